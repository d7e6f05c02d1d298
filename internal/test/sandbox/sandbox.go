package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/test/assert"
)

// marker is set in the environment of a test binary that has started itself again.
const marker = "PETSTORE_TEST_SANDBOX"

// passed are the variables that keep their values: where programs and temporary files are, and what
// Go reads to build.
var passed = []string{
	"PATH",
	"TMPDIR",
	"GOROOT",
	"GOTOOLCHAIN",
	"GOPROXY",
	"GOSUMDB",
	"GONOSUMDB",
	"GOPRIVATE",
	"GONOPROXY",
	"GOARCH",
	"GOOS",
	"GORACE",
	"CC",
}

// asked are the variables with which make test, make soak and developers configure the tests.
// Commands do not get them.
var asked = []string{
	"PETSTORE_SOAK",
	"PETSTORE_BOUNDS",
	"PETSTORE_E2E_PROGRAMS",
	"PETSTORE_E2E_SERVER_ENV",
	"PETSTORE_E2E_RACE",
	"PETSTORE_E2E_PACKAGES",
	"PETSTORE_E2E_LOGS",
	"PETSTORE_SCREENSHOT",
	"PETSTORE_TEST_POSTGRES",
	"PETSTORE_TEST_REDIS",
	"UPDATE_SCRIPTS",
	"UPDATE_DOCS",
	"UPDATE_GOLDEN",
	"UPDATE_LAYOUT",
}

// noHome is a place where nothing can be read or written.
const noHome = "/dev/null"

// A program that is the test binary itself, such as petstorectl in scripts, keeps the environment
// that it gets. A test binary is recognized by its first argument, a flag of go test.
func init() {
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], "-test.") {
		return
	}
	syscall.Umask(0o022)
	if os.Getenv(marker) != "" {
		return
	}
	self, err := os.Executable()
	if err == nil {
		// #nosec G204 G702 -- this binary, as it was started
		err = syscall.Exec(self, os.Args, append(environ(noHome, asked...), marker+"=1"))
	}
	fmt.Fprintln(os.Stderr, "start the test binary in its sandbox:", err)
	os.Exit(1)
}

// Enter gives this process the environment of a sandbox. It is for programs that serve tests; a
// test binary starts itself again instead.
func Enter() {
	env := environ(noHome)
	os.Clearenv()
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		_ = os.Setenv(name, value) // The name comes from the environment, so it is valid.
	}
}

// environ returns an environment with that HOME, made only of passed and the further variables. It
// lets Git read the sources even if another user owns them: the file that allows it may be in the
// original HOME.
func environ(home string, further ...string) []string {
	env := []string{
		"HOME=" + home,
		"LANG=C.UTF-8",
		"TZ=UTC",
		"GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=safe.directory",
		"GIT_CONFIG_VALUE_0=*",
	}
	for _, name := range slices.Concat(passed, further) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, path := range goPaths() {
		env = append(env, name+"="+path)
	}
	slices.Sort(env)
	return env
}

// goPaths returns where Go's caches and configuration are: by their variables, else below this
// process's original HOME.
func goPaths() map[string]string {
	found := map[string]string{}
	name := func(variable string, parent string, err error, below ...string) string {
		path := os.Getenv(variable)
		if path == "" && err == nil {
			path = filepath.Join(append([]string{parent}, below...)...)
		}
		if path != "" {
			found[variable] = path
		}
		return path
	}
	home, err := os.UserHomeDir()
	path := name("GOPATH", home, err, "go")
	if path == "" {
		err = errors.New("no GOPATH")
	}
	name("GOMODCACHE", path, err, "pkg", "mod")
	cache, err := os.UserCacheDir()
	name("GOCACHE", cache, err, "go-build")
	config, err := os.UserConfigDir()
	name("GOENV", config, err, "go", "env")
	return found
}

// Command returns a command with the environment of a sandbox, in an empty folder and with an empty
// HOME of its own. The test may set Dir, and may add to Env, where the last value of a name wins.
// name is a program in PATH, or its path relative to the test's folder.
func Command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := CommandIn(t.TempDir(), name, args...)
	cmd.Env = environ(t.TempDir())
	return cmd
}

// CommandIn returns a command for work that several tests share, such as a build. It runs in that
// folder, without a HOME.
func CommandIn(dir, name string, args ...string) *exec.Cmd {
	if path, err := filepath.Abs(name); err == nil && filepath.Base(name) != name {
		name = path
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, environ(noHome)
	return cmd
}

// Module returns the folder of the sources, which has go.mod. It is above the test's folder.
func Module() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the folder of the test")
		}
	}
	return "", err
}

// Page compares the matching part of a document with want. With UPDATE_DOCS it writes want instead.
func Page(t testing.TB, file string, part *regexp.Regexp, want string) {
	t.Helper()
	page, err := os.ReadFile(file)
	assert.NoError(t, err)
	if os.Getenv("UPDATE_DOCS") != "" {
		assert.NoError(t, os.WriteFile(file, part.ReplaceAllLiteral(page, []byte(want)), 0o644))
		return
	}
	assert.DeepEqual(t, string(part.Find(page)), want, file, "(UPDATE_DOCS=1 writes it)")
}
