package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(programs.Suite{M: storetest.Suite{M: m}}) }

// long reports whether the tests run in their long form, as in make soak.
func long() bool { return os.Getenv("PETSTORE_SOAK") != "" }

// program returns the path of petstore or petstorectl.
func program(t testing.TB, name string) string {
	t.Helper()
	return programs.Path(t, name)
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
	if err := programs.Build(root, dir, "-overlay", overlay, "./cmd/petstore"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "petstore")
}
