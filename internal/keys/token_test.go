package keys_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

// documented is the example key of the documentation.
const documented = "pst_live_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm"

var documentedForm = regexp.MustCompile(`^pst_(live|test)_[0-9A-Za-z]{36}$`)

func parse(t *testing.T, text string) keys.Token {
	t.Helper()
	token, err := keys.ParseToken(text)
	assert.NoError(t, err)
	return token
}

func TestParseDocumentedToken(t *testing.T) {
	t.Parallel()
	token := parse(t, documented)
	if token.Environment() != keys.Live || token.Last4() != "NUMm" || token.Reveal() != documented {
		t.Errorf("parsed %v: environment %s, last four %s", token, token.Environment(), token.Last4())
	}
	if token.Digest() != sha256.Sum256([]byte(documented)) {
		t.Error("the digest is not the SHA-256 of the whole key")
	}
}

func TestNewToken(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	var characters [256]int
	for _, env := range []keys.Environment{keys.Live, keys.Test} {
		for range 2000 {
			token, err := keys.NewToken(env)
			assert.NoError(t, err)
			text := token.Reveal()
			if !documentedForm.MatchString(text) || len(text) != 45 {
				t.Fatalf("%s does not have the documented form", text)
			}
			if again := parse(t, text); again != token || again.Environment() != env {
				t.Fatalf("%s was parsed as another key", text)
			}
			if seen[text] {
				t.Fatalf("%s was made twice", text)
			}
			seen[text] = true
			for _, c := range []byte(text[9:39]) {
				characters[c]++
			}
		}
	}
	// 120,000 characters, 1935 of each expected, with a standard deviation of 44.
	for _, c := range "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" {
		if n := characters[c]; n < 1600 || n > 2270 {
			t.Errorf("%q came %d times of 120,000, want about 1935", c, n)
		}
	}
}

// refuse parses what is no key; the error does not contain it.
func refuse(t *testing.T, text string) {
	t.Helper()
	if _, err := keys.ParseToken(text); !errors.Is(err, keys.ErrMalformed) {
		t.Errorf("ParseToken(%q) = %v, want ErrMalformed", text, err)
	} else if text != "" && strings.Contains(err.Error(), text) {
		t.Errorf("the error contains the text: %v", err)
	}
}

func TestParseRefusesEveryTypo(t *testing.T) {
	t.Parallel()
	for i := range documented {
		for c := range 256 {
			if byte(c) != documented[i] {
				refuse(t, documented[:i]+string([]byte{byte(c)})+documented[i+1:])
			}
		}
		refuse(t, documented[:i]+documented[i+1:])
		refuse(t, documented[:i]+"0"+documented[i:])
		if i > 0 && documented[i] != documented[i-1] {
			refuse(t, documented[:i-1]+documented[i:i+1]+documented[i-1:i]+documented[i+1:])
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range map[string]string{
		"nothing":                      "",
		"the prefix alone":             "pst_live_",
		"white space before":           " " + documented,
		"white space after":            documented + "\n",
		"upper-case prefix":            strings.ToUpper(documented[:9]) + documented[9:],
		"another environment's prefix": "pst_test_" + documented[9:],
		"an unknown environment":       "pst_demo_" + documented[9:],
		"twice":                        documented + documented,
		"all zeros":                    "pst_live_" + strings.Repeat("0", 36),
		"other letters":                "pst_live_" + strings.Repeat("é", 18),
		"another's key":                "sk_live_4eC39HqLyjWDarjtT1zdp7dcTYooMQauvdEDq",
	} {
		refuse(t, text)
	}
}

// Other characters than letters and digits are refused even if the checksum is correct.
func TestParseRefusesOtherCharacters(t *testing.T) {
	t.Parallel()
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for c := range 256 {
		body := documented[:20] + string([]byte{byte(c)}) + documented[21:39]
		sum, check := crc32.ChecksumIEEE([]byte(body)), ""
		for range 6 {
			sum, check = sum/62, string(letters[sum%62])+check
		}
		_, err := keys.ParseToken(body + check)
		if good := strings.IndexByte(letters, byte(c)) >= 0; (err == nil) != good {
			t.Errorf("a key with %q: %v", byte(c), err)
		}
	}
}

func TestParseTokenAllocatesOnce(t *testing.T) {
	n := testing.AllocsPerRun(100, func() { _, _ = keys.ParseToken(documented) })
	assert.True(t, n <= 1, n, "allocations, want 1")
}

func TestTokenPrintsRedacted(t *testing.T) {
	t.Parallel()
	token := parse(t, documented)
	holder := struct{ Key keys.Token }{token}
	printed := map[string]string{
		"String":        token.String(),
		"JSON":          marshal(t, token),
		"JSON in field": marshal(t, holder),
		"JSON map key":  marshal(t, map[keys.Token]int{token: 1}),
		"error":         fmt.Errorf("look up %v: %w", token, keys.ErrInvalidKey).Error(),
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%50s", "%.3s"} {
		printed[verb] = fmt.Sprintf(verb, token)
		printed[verb+" in a field"] = fmt.Sprintf(verb, holder)
		printed[verb+" in a slice"] = fmt.Sprintf(verb, []keys.Token{token})
		printed[verb+" of a pointer"] = fmt.Sprintf(verb, &token)
	}
	var log bytes.Buffer
	logger := zerolog.New(&log)
	logger.Info().Any("any", token).Interface("interface", holder).Stringer("stringer", token).Msgf("key %v", token)
	printed["zerolog"] = log.String()
	log.Reset()
	slog.New(slog.NewTextHandler(&log, nil)).Info("key", "token", token, "holder", holder)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("key", "token", token, "holder", holder)
	printed["slog"] = log.String()

	secret := documented[9:41]
	for how, text := range printed {
		if strings.Contains(text, secret) || strings.Contains(strings.ToLower(text), fmt.Sprintf("%x", secret)) {
			t.Errorf("%s gives the key away: %s", how, text)
		}
	}
	if got, want := printed["%v"], "pst_live_…NUMm"; got != want {
		t.Errorf("%%v prints %s, want %s", got, want)
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	assert.NoError(t, err)
	return string(text)
}

func FuzzParseToken(f *testing.F) {
	f.Add(documented)
	f.Add("pst_test_" + strings.Repeat("z", 36))
	f.Add("")
	f.Add("Bearer " + documented)
	f.Fuzz(func(t *testing.T, text string) {
		token, err := keys.ParseToken(text)
		if err != nil {
			if !errors.Is(err, keys.ErrMalformed) || token != (keys.Token{}) {
				t.Errorf("ParseToken(%q) = %v, %v", text, token, err)
			}
			return
		}
		if token.Reveal() != text || !documentedForm.MatchString(text) {
			t.Errorf("%q was taken for a key", text)
		}
	})
}
