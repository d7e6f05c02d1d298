package programs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"petstore.example/internal/test/pgtest"
	"petstore.example/internal/test/sandbox"
)

// Suite runs the tests of M, and removes the programs after them.
type Suite struct{ M interface{ Run() int } }

// Run returns the exit code of the tests.
func (s Suite) Run() int {
	defer func() { removeBuilt() }()
	return s.M.Run()
}

var removeBuilt = func() {}

// build returns the directory of the programs. The first test that runs one builds them.
var build = sync.OnceValues(func() (string, error) {
	dir, remove, err := pgtest.TempDir(false) // Some tests run the programs as another user.
	if err != nil {
		return "", err
	}
	removeBuilt = remove
	if UnderRace() {
		return dir, Build("", dir, "petstore.example/cmd/petstore", "petstore.example/cmd/petstorectl")
	}
	if ready := os.Getenv(
		"PETSTORE_E2E_PROGRAMS",
	); ready != "" { // make test has built the programs for the tests of all packages
		return dir, run(
			sandbox.CommandIn(
				dir,
				"install",
				"-m",
				"755",
				filepath.Join(ready, "petstore"),
				filepath.Join(ready, "petstorectl"),
				dir,
			),
		)
	}
	module, err := sandbox.Module()
	if err != nil {
		return "", fmt.Errorf("find the Makefile: %w", err)
	}
	return dir, run(sandbox.CommandIn(module, "make", "-s", "build", "BIN="+dir, "LDFLAGS=-X main.version="+Version))
})

// Path returns the path of petstore or petstorectl.
func Path(t testing.TB, name string) string {
	t.Helper()
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// Version is the version of the programs, unless they have the race detector.
const Version = "v0.0.0-e2e"

// UnderRace reports whether the programs have the race detector, which needs cgo.
func UnderRace() bool { return os.Getenv("PETSTORE_E2E_RACE") != "" }

// Build builds packages of the module in a folder into dir. args are further arguments of go build,
// followed by the packages.
func Build(module, dir string, args ...string) error {
	all, cgo := []string{"build", "-tags", "nomsgpack", "-trimpath", "-o", dir + "/"}, "CGO_ENABLED=0"
	if UnderRace() {
		all, cgo = append(all, "-race"), "CGO_ENABLED=1"
	}
	cmd := sandbox.CommandIn(module, "go", append(all, args...)...)
	cmd.Env = append(cmd.Env, cgo)
	return run(cmd)
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	return nil
}
