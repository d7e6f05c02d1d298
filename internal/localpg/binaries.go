//go:build unix

package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrNotInstalled says that this machine has no PostgreSQL server, and how to install one.
var ErrNotInstalled = errors.New("PostgreSQL is not installed: apt-get install postgresql, brew install postgresql, or your system's package of it")

// binaries is a folder with the programs postgres and initdb of one version.
type binaries struct {
	dir     string
	version string // the major version, as in the file PG_VERSION: "15"
}

// folders are where packages put the server's programs; most of them keep it out of PATH.
var folders = []string{
	"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
	"/usr/pgsql-*/bin",          // Red Hat, from postgresql.org
	"/usr/libexec/postgresql*",  // Alpine
	"/opt/homebrew/opt/postgresql@*/bin",
	"/opt/homebrew/opt/postgresql/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// candidates returns the folders that may hold the programs, the ones to prefer first: PATH, pg_config, then the newest.
func candidates(ctx context.Context) []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range folders {
		found, _ := filepath.Glob(pattern) // the patterns are well formed
		slices.SortFunc(found, func(a, b string) int { return number(b) - number(a) })
		dirs = append(dirs, found...)
	}
	return dirs
}

var digits = regexp.MustCompile(`[0-9]+`)

func number(path string) int {
	n, _ := strconv.Atoi(digits.FindString(path))
	return n
}

// findBinaries returns the first programs among the folders dirs, or the first of version want where want is not empty and
// there are such. It returns ErrNotInstalled when there are none at all.
func findBinaries(ctx context.Context, dirs []string, want string) (binaries, error) {
	var first binaries
	seen := map[string]bool{}
	for _, dir := range dirs {
		b, err := inspect(ctx, dir)
		if err != nil || seen[b.dir] {
			continue
		}
		seen[b.dir] = true
		if want == "" || b.version == want {
			return b, nil
		}
		if first.dir == "" {
			first = b
		}
	}
	if err := ctx.Err(); err != nil {
		return binaries{}, err // which is why none answered
	}
	if first.dir == "" {
		return binaries{}, ErrNotInstalled
	}
	return first, nil
}

// inspect looks for both programs in dir and asks for their version. A link in dir leads to the folder it points into, as
// PostgreSQL finds its other files from there.
func inspect(ctx context.Context, dir string) (binaries, error) {
	postgres, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return binaries{}, err
	}
	dir = filepath.Dir(postgres)
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return binaries{}, err
	}
	out, err := exec.CommandContext(ctx, postgres, "--version").Output()
	if err != nil {
		return binaries{}, fmt.Errorf("%s --version: %w", postgres, err)
	}
	version, err := majorVersion(string(out))
	return binaries{dir: dir, version: version}, err
}

var versionText = regexp.MustCompile(`\(PostgreSQL\) ([0-9]+)`)

func majorVersion(text string) (string, error) {
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("no version in %q", text)
	}
	return m[1], nil
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// provide finds the programs that fit the data.
func provide(ctx context.Context, p place, dirs finder) (b binaries, err error) {
	want, err := dataVersion(p.data())
	if err != nil {
		return binaries{}, err
	}
	if b, err = findBinaries(ctx, dirs(ctx), want); err != nil {
		return binaries{}, err
	}
	if want != "" && b.version != want {
		return binaries{}, &VersionError{Dir: p.home, Data: want, Installed: b.version}
	}
	return b, nil
}
