package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"petstore.example/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite{storetest.Suite{M: m}}) }

// suite removes the programs after the tests.
type suite struct{ storetest.Suite }

func (s suite) Run() int {
	code := s.Suite.Run()
	if err := os.RemoveAll(programs.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// long reports whether the tests run in their long form, as in make soak.
func long() bool { return os.Getenv("PETSTORE_SOAK") != "" }

// programs are built with the first test that runs one, as make build builds them.
var programs struct {
	once sync.Once
	dir  string
	err  error
}

// program returns the path of petstore or petstorectl.
func program(t testing.TB, name string) string {
	t.Helper()
	programs.once.Do(func() { programs.dir, programs.err = buildPrograms() })
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return filepath.Join(programs.dir, name)
}

func buildPrograms() (string, error) {
	dir, err := os.MkdirTemp("", "petstore-e2e-")
	if err != nil {
		return "", err
	}
	// Some tests run them as another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		return dir, err
	}
	return dir, build(dir, "./cmd/petstore", "./cmd/petstorectl")
}

// build builds programs into a folder. args are further arguments of go build, and the packages.
func build(dir string, args ...string) error {
	all := []string{"build", "-tags", "nomsgpack", "-trimpath", "-o", dir + "/"}
	if os.Getenv("PETSTORE_E2E_RACE") != "" {
		all = append(all, "-race")
	}
	cmd := exec.Command("go", append(all, args...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return nil
}

// root is the repository, seen from here.
var root = filepath.Join("..", "..")

// buildWith builds petstore with a fault: one text of one of its files is another. It returns the program's path.
func buildWith(t testing.TB, file, text, fault string) string {
	t.Helper()
	original, err := filepath.Abs(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(source, []byte(text)) {
		t.Fatalf("%s has no %q: the fault has to be planted elsewhere", file, text)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.WriteFile(changed, bytes.Replace(source, []byte(text), []byte(fault), 1), 0o600), os.WriteFile(overlay, replaced, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if err := build(dir, "-overlay", overlay, "./cmd/petstore"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "petstore")
}
