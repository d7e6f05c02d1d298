package e2e_test

import (
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

// long tells whether there is time for more than what make test has.
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
	args := []string{"build", "-tags", "nomsgpack", "-trimpath", "-o", dir + "/"}
	if os.Getenv("PETSTORE_E2E_RACE") != "" {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/petstore", "./cmd/petstorectl")...)
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return dir, nil
}
