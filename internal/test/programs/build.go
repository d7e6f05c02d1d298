package programs

import (
	"errors"
	"fmt"
	"os"
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
	defer func() {
		if built.remove != nil {
			built.remove()
		}
	}()
	return s.M.Run()
}

// built are the programs. They are built with the first test that runs one.
var built struct {
	once   sync.Once
	dir    string
	remove func()
	err    error
}

// Path returns the path of petstore or petstorectl.
func Path(t testing.TB, name string) string {
	t.Helper()
	built.once.Do(func() {
		// Some tests run them as another user.
		if built.dir, built.remove, built.err = pgtest.TempDir(false); built.err == nil {
			built.err = build(built.dir)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, name)
}

// Dir is the environment variable with the directory of programs that make test has built once for the tests of all packages.
const Dir = "PETSTORE_E2E_PROGRAMS"

func build(dir string) error {
	if UnderRace() {
		return Build("", dir, "petstore.example/cmd/petstore", "petstore.example/cmd/petstorectl")
	}
	if ready := os.Getenv(Dir); ready != "" {
		return link(ready, dir)
	}
	return makeBuild(dir)
}

func link(from, to string) error {
	var errs []error
	for _, name := range []string{"petstore", "petstorectl"} {
		ready, here := filepath.Join(from, name), filepath.Join(to, name)
		if os.Link(ready, here) != nil { // another file system
			program, err := os.ReadFile(ready)
			errs = append(errs, err, os.WriteFile(here, program, 0o600))
		}
		errs = append(errs, os.Chmod(here, 0o755)) // whatever the umask of make
	}
	return errors.Join(errs...)
}

// Version is the version of the programs, unless they have the race detector.
const Version = "v0.0.0-e2e"

// UnderRace reports whether the programs have the race detector, which needs cgo.
func UnderRace() bool { return os.Getenv("PETSTORE_E2E_RACE") != "" }

// makeBuild runs make build for a folder.
func makeBuild(dir string) error {
	module, err := sandbox.Module()
	if err != nil {
		return fmt.Errorf("find the Makefile: %w", err)
	}
	if out, err := sandbox.CommandIn(module, "make", "-s", "build", "BIN="+dir, "LDFLAGS=-X main.version="+Version).CombinedOutput(); err != nil {
		return fmt.Errorf("make build: %w\n%s", err, out)
	}
	return nil
}

// Build builds packages of the module of a folder into dir. args are further arguments of go build, and the packages.
func Build(module, dir string, args ...string) error {
	all, cgo := []string{"build", "-tags", "nomsgpack", "-trimpath", "-o", dir + "/"}, "CGO_ENABLED=0"
	if UnderRace() {
		all, cgo = append(all, "-race"), "CGO_ENABLED=1"
	}
	cmd := sandbox.CommandIn(module, "go", append(all, args...)...)
	cmd.Env = append(cmd.Env, cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return nil
}
