package deploycheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository, seen from here.
const root = "../.."

// expect checks that a planted mistake was found.
func expect(t *testing.T, found []string, want string) {
	t.Helper()
	for _, f := range found {
		if strings.Contains(f, want) {
			return
		}
	}
	t.Errorf("a planted mistake was not found: %q is not in %q", want, found)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mistake is a change of a file of deploy/ and what a check says of it.
type mistake struct {
	file     string
	old, new string
	want     string
}

// plant returns a copy of deploy/ with the mistake.
func plant(t *testing.T, m mistake) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(deploy)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, m.file)
	text := string(readFile(t, path))
	if !strings.Contains(text, m.old) {
		t.Fatalf("%s has no %q to make a mistake of", m.file, m.old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(text, m.old, m.new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fine checks that nothing was found.
func fine(t *testing.T, found []string) {
	t.Helper()
	if len(found) > 0 {
		t.Errorf("%d found:\n%s", len(found), strings.Join(found, "\n"))
	}
}
