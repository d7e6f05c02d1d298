package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// marker is set in the environment of a test binary that has started itself once more.
const marker = "PETSTORE_TEST_SANDBOX"

// passed are the variables that keep their values: where programs and temporary files are, and what Go reads to build.
var passed = []string{
	"PATH", "TMPDIR", "GOROOT", "GOTOOLCHAIN", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GONOPROXY", "GOARCH", "GOOS", "GORACE", "CC",
}

// asked are the variables by which make test, make soak and developers ask something of the tests. They do not reach the programs that
// tests start.
var asked = []string{
	"PETSTORE_SOAK", "PETSTORE_E2E_PROGRAMS", "PETSTORE_E2E_SERVER_ENV", "PETSTORE_E2E_RACE", "PETSTORE_E2E_PACKAGES", "PETSTORE_E2E_LOGS",
	"PETSTORE_SCREENSHOT", "UPDATE_SCRIPTS", "UPDATE_DOCS", "UPDATE_GOLDEN", "UPDATE_LAYOUT",
}

// noHome is where nothing can be read or written.
const noHome = "/dev/null"

// Programs that are made of the test binary, such as petstorectl in scripts, keep the environment that they get: go test names its own flags first.
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
		err = syscall.Exec(self, os.Args, append(environ(noHome, passed, asked), marker+"=1"))
	}
	fmt.Fprintln(os.Stderr, "start the test binary in its sandbox:", err)
	os.Exit(1)
}

// environ returns an environment made of nothing but those variables, with that HOME.
func environ(home string, variables ...[]string) []string {
	env := []string{"HOME=" + home, "LANG=C.UTF-8", "TZ=UTC"}
	for _, name := range slices.Concat(variables...) {
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

// goPaths returns where Go has its caches and its configuration: by their variables, else below the HOME that this process was started with.
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

// Command returns a command with the environment of a sandbox, in an empty folder and with an empty HOME of its own. The test may set Dir, and
// add to Env: the last value of a name wins. name is a program in PATH, or its path.
func Command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...) //nolint:gosec,noctx // programs that the tests name; those that outlive a context are stopped in order
	cmd.Dir = t.TempDir()
	cmd.Env = environ(t.TempDir(), passed)
	return cmd
}
