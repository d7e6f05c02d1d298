package contexts_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/ctl/contexts"
)

var (
	production = contexts.Context{
		Name: "production", URL: "postgres://alice@db.example:5432/petstore?sslmode=verify-full&sslrootcert=%2Fa%23b%27c", Environment: contexts.Production,
		ExpiresAt: time.Date(2027, 2, 18, 10, 30, 0, 123456000, time.UTC),
	}
	local = contexts.Context{Name: "1e3", URL: "postgres://jo@/x?host=/tmp&sslmode=disable", Environment: contexts.Development}
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := contexts.Store{Dir: filepath.Join(t.TempDir(), "new", "petstorectl")}
	f, err := s.Read()
	if err != nil || len(f.Contexts) != 0 {
		t.Fatalf("at first: %v, %v", f, err)
	}
	must(t, s.Put(production, "s3cret"), s.Put(local, ""))
	f, err = s.Read()
	if diff := cmp.Diff([]contexts.Context{local, production}, f.List()); err != nil || diff != "" || f.Current != "1e3" {
		t.Errorf("current %q (-want +got):\n%s%v", f.Current, diff, err)
	}
	for c, want := range map[contexts.Context]string{production: "s3cret", local: "", {Name: "none"}: ""} {
		if got, err := s.Secret(c); got != want || err != nil {
			t.Errorf("secret of %s: %q, %v", c.Name, got, err)
		}
	}
	for path, want := range map[string]os.FileMode{"": 0o700, "contexts.yaml": 0o600, "secret-production": 0o600} {
		if info, err := os.Stat(filepath.Join(s.Dir, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	text, err := os.ReadFile(s.Path())
	if err != nil || strings.Contains(string(text), "s3cret") {
		t.Errorf("contexts.yaml: %s, %v", text, err)
	}
	must(t, s.Use("production"), s.Remove("1e3"), s.RemoveSecret("production"))
	for what, err := range map[string]error{"use": s.Use("1e3"), "remove": s.Remove("1e3"), "log out of": s.RemoveSecret("1e3")} {
		if !errors.Is(err, contexts.ErrNotFound) {
			t.Errorf("%s what is gone: %v", what, err)
		}
	}
	must(t, s.Remove("production"))
	f, err = s.Read()
	entries, _ := os.ReadDir(s.Dir)
	if err != nil || f.Current != "" || len(f.Contexts) != 0 || len(entries) != 1 {
		t.Errorf("at last: %v, %v, %v", f, entries, err)
	}
}

// TestSecretOfAnotherURL: what a login stored for another server stays here if contexts.yaml could not be written.
func TestSecretOfAnotherURL(t *testing.T) {
	t.Parallel()
	s := contexts.Store{Dir: filepath.Join(t.TempDir(), "petstorectl")}
	must(t, s.Put(production, "old"))
	before, err := os.ReadFile(s.Path())
	moved := production
	moved.URL = "postgres://alice@new.example:5432/petstore?sslmode=verify-full"
	must(t, err, s.Put(moved, "new"), os.WriteFile(s.Path(), before, 0o600))
	f, err := s.Read()
	must(t, err)
	stored, err := f.Get("production")
	must(t, err)
	if got, err := s.Secret(stored); got != "" || err != nil {
		t.Errorf("the URL of before has the secret %q, %v", got, err)
	}
	if got, err := s.Secret(moved); got != "new" || err != nil {
		t.Errorf("the new URL has the secret %q, %v", got, err)
	}
}

// TestUntrusted: what another user could have written or read is refused.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path string
		mode os.FileMode
		want string
	}{
		"folder":              {"", 0o777, "is not trusted: it can be written to by other users (mode 0777)"},
		"contexts":            {"contexts.yaml", 0o666, "contexts.yaml is not trusted: it can be written to by other users (mode 0666)"},
		"secret":              {"secret-production", 0o620, "secret-production is not trusted: it can be written to by other users (mode 0620)"},
		"secret that is read": {"secret-production", 0o640, "secret-production is not trusted: it can be read by other users (mode 0640)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := contexts.Store{Dir: filepath.Join(t.TempDir(), "petstorectl")}
			must(t, s.Put(production, "s3cret"), os.Chmod(filepath.Join(s.Dir, c.path), c.mode))
			_, err := s.Read()
			_, secretErr := s.Secret(production)
			if err := errors.Join(err, secretErr); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestBrokenFile(t *testing.T) {
	t.Parallel()
	s := contexts.Store{Dir: t.TempDir()}
	must(t, os.Chmod(s.Dir, 0o700), os.WriteFile(s.Path(), []byte("contexts: [1"), 0o600))
	if _, err := s.Read(); err == nil || !strings.Contains(err.Error(), "contexts.yaml is not valid: ") {
		t.Error(err)
	}
	must(t, os.WriteFile(s.Path(), nil, 0o600), s.Put(production, ""))
}
