//go:build linux

package packages_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite{programs.Suite{M: storetest.Suite{M: m}}}) }

// suite removes the packages after the tests.
type suite struct{ programs.Suite }

func (s suite) Run() int {
	code := s.Suite.Run()
	if err := os.RemoveAll(built.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// built are the packages that the first test builds.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// versions of the packages that tests build. From the first they upgrade to the second, whose
// programs are the same.
const older, newer = "0.0.9", "0.1.0-test.1"

// packageFile returns the path of a package, with that ending: deb or rpm. A release that is tested
// has no older version.
func packageFile(t *testing.T, name, version, format string) string {
	t.Helper()
	dir := os.Getenv("PETSTORE_E2E_PACKAGES")
	if dir == "" {
		built.once.Do(func() { built.dir, built.err = buildPackages(t) })
		if built.err != nil {
			t.Fatal(built.err)
		}
		dir = filepath.Join(built.dir, version)
	}
	pattern := map[string]string{"deb": name + "_*_" + runtime.GOARCH + ".deb", "rpm": name + "-*." +
		rpmArch[runtime.GOARCH] + ".rpm"}[format]
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s in %s: %v, %v", pattern, dir, found, err)
	}
	path, err := filepath.Abs(found[0])
	assert.NoError(t, err)
	return path
}

var rpmArch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// whole reports whether the packages are made of all that a release has, which takes a minute.
func whole() bool { return os.Getenv("PETSTORE_SOAK") != "" }

func buildPackages(t *testing.T) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "petstore-packages-"); err != nil {
		return "", err
	}
	files, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", "release"))
	if err != nil {
		return dir, err
	}
	if whole() {
		err = execute(t, "make", "-s", "release-files")
	} else {
		files = t.TempDir()
		standIns(t, files)
		err = execute(t, "go", "-C", "tools/release", "build", "-trimpath", "-o", filepath.Join(files, "release"), ".")
	}
	if err != nil {
		return dir, err
	}
	for _, version := range []string{older, newer} {
		to := filepath.Join(dir, version)
		err = errors.Join(
			err,
			os.Mkdir(to, 0o755),
			execute(t, filepath.Join(files, "release"), "package", version, files, to),
		)
	}
	return dir, err
}

// standIns writes what make release-files does to a folder, with the programs of the other tests,
// and a line in place of each other file.
func standIns(t *testing.T, dir string) {
	t.Helper()
	for _, program := range []string{"petstore", "petstorectl"} {
		assert.NoError(t, os.Link(programs.Path(t, program), filepath.Join(dir, program)))
		for _, completion := range []string{program + ".bash", program + ".fish", "_" + program + ".zsh"} {
			write(
				t,
				filepath.Join(dir, "completions", completion),
				"#compdef "+program+"\nbash completion, fish completion\n",
			)
		}
	}
	write(t, filepath.Join(dir, "man/man1/petstorectl-key-issue.1.gz"), "a page")
	write(t, filepath.Join(dir, "man/man8/petstore-serve.8.gz"), "a page")
	write(t, filepath.Join(dir, "THIRD_PARTY_LICENSES.txt"), "github.com/gin-gonic/gin\n")
}

// execute runs a command in the root of the repository.
func execute(t *testing.T, program string, args ...string) error {
	cmd := sandbox.Command(t, program, args...)
	cmd.Dir = filepath.Join("..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// run runs a program and returns its output. Whoever is not root becomes root in a namespace of its
// own, so that files may belong to root.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		program, args = "unshare", append([]string{"--map-root-user", program}, args...)
	}
	cmd := sandbox.Command(t, program, args...)
	cmd.Env = append(cmd.Env, "LC_ALL=C", "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, cmd, out)
	return string(out)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	assert.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
