package mail

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox"
)

// TestAddressForms: one address alone, without a name, as many mail servers take it.
func TestAddressForms(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"ops@acme.example":           "ops@acme.example",
		"Ops+key@ACME.Example":       "Ops+key@acme.example",
		"o'brien@bücher.example":     "o'brien@xn--bcher-kva.example",
		"a@localhost":                "a@localhost",
		"o@" + long(63) + ".example": "o@" + long(63) + ".example",
	} {
		got, err := ParseAddress(in)
		assert.Result(t, got, err, want)
	}
	for _, in := range []string{
		"", "ops", "ops@", "@acme.example", "Ops <ops@acme.example>", "<ops@acme.example>", "ops@acme.example (Ops)",
		"a@x.example,b@x.example", " ops@acme.example", "ops@acme.example\n", "o\rps@acme.example",
		`"o ps"@acme.example`,
		`"ops"@acme.example`, "ops@[192.0.2.1]", "ops@a..example", "ops@-a.example", "ops@a_b.example",
		"o@" + long(64) + ".example", long(245) + "@a.example", "o@a\x00.example", "o\u200bps@acme.example",
		"ops@acme.example\r\nRCPT TO:<x@y.example>", "ü@acme.example",
	} {
		got, err := ParseAddress(in)
		assert.True(t, err != nil && got == "", in, got)
	}
	_, err := ParseAddress("ü@acme.example")
	assert.ErrorIs(t, err, ErrASCII)
}

func long(n int) string { return strings.Repeat("a", n) }

// TestFiles: a mail is a file that only this user can read, in a folder that only this user can enter.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sub", "mail")
	path := ""
	f := NewFiles(dir, func(p string) { path = p })
	assert.Equal(t, f.Send(t.Context(), message()), Result{Outcome: Sent})
	assert.True(t, filepath.Dir(path) == dir && strings.HasSuffix(path, message().ID.String()+".eml"), path)
	for path, mode := range map[string]os.FileMode{dir: os.ModeDir | 0o700, path: 0o600} {
		info, err := os.Stat(path)
		assert.NoError(t, err)
		assert.Equal(t, info.Mode(), mode, path)
	}
	text, err := os.ReadFile(path)
	assert.NoError(t, err)
	assert.Contains(t, string(text), "To: <ops@acme.example>\r\n")
	m := message()
	m.To = "ops"
	assert.Equal(t, f.Send(t.Context(), m).Outcome, Failed)
	assert.Equal(t, NewFiles(path, nil).Send(t.Context(), message()).Outcome, RelayDown)
}
