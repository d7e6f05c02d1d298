package staff

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

func TestSecret(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	used := map[rune]bool{}
	for range 500 {
		s, err := NewSecret()
		assert.NoError(t, err)
		text := s.Reveal()
		if secretForm.FindString(text) != text || seen[text] {
			t.Fatalf("%q does not have the form, or is not new", text)
		}
		seen[text] = true
		for _, r := range strings.TrimPrefix(text, secretPrefix) {
			used[r] = true
		}
		for _, shown := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s", s, s, s, s)} {
			if strings.Contains(shown, text[len(secretPrefix):]) {
				t.Fatalf("printed as %q", shown)
			}
		}
	}
	// 15,000 characters of 31 and the dash: none is missing by chance.
	assert.Equal(t, len(used), len(alphabet)+1, "characters are used")
	if strings.ContainsAny(alphabet, "01ilo") {
		t.Error("the alphabet has characters that look alike")
	}
	if !ContainsSecret("postgres://alice:petstaff-22222-33333-44444-55555-66666-zzzzz@db/x") ||
		ContainsSecret("petstaff-22222") {
		t.Error("ContainsSecret")
	}
}

// TestVerifier has the salted password of RFC 7677's example ("pencil"), in the form of Postgres.
func TestVerifier(t *testing.T) {
	t.Parallel()
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	assert.NoError(t, err)
	got, err := verifier("pencil", salt)
	const want = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$" +
		"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
	assert.Result(t, got, err, want)
	s := Secret{"x"}
	first, err := s.Verifier()
	if second, _ := s.Verifier(); err != nil || first == second {
		t.Errorf("two verifiers have the same salt: %v", err)
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"alice": true, "a": true, "jo_2": true, strings.Repeat("a", 63): true,
		"": false, "Alice": false, "2jo": false, "pg_jo": false, "petstore_support": false, "public": false,
		"jo-2": false, `a"b`: false,
		strings.Repeat("a", 64): false, "zoë": false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
