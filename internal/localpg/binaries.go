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

// binaries is a directory with the programs postgres and initdb.
type binaries struct {
	dir     string
	version string // major, as in the file PG_VERSION: "15"
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// packageDirs are where packages put the programs; most of them are not in PATH.
var packageDirs = []string{
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

// searchDirs returns the directories that may hold the programs, in order of preference: PATH, pg_config's, the newest package.
func searchDirs(ctx context.Context) []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range packageDirs {
		found, _ := filepath.Glob(pattern) // the patterns are well formed
		slices.SortFunc(found, func(a, b string) int { return firstNumber(b) - firstNumber(a) })
		dirs = append(dirs, found...)
	}
	return dirs
}

var digits = regexp.MustCompile(`[0-9]+`)

func firstNumber(path string) int {
	n, _ := strconv.Atoi(digits.FindString(path))
	return n
}

// findBinaries returns the programs of version want in dirs, or the first ones there when want is empty or not found. It returns
// ErrNotInstalled when there are none.
func findBinaries(ctx context.Context, dirs []string, want string) (binaries, error) {
	var first binaries
	for _, dir := range dirs {
		b, err := inspect(ctx, dir)
		if err != nil {
			continue
		}
		if want == "" || b.version == want {
			return b, nil
		}
		if first.dir == "" {
			first = b
		}
	}
	if err := ctx.Err(); err != nil {
		return binaries{}, err // the programs were not run
	}
	if first.dir == "" {
		return binaries{}, ErrNotInstalled
	}
	return first, nil
}

var versionText = regexp.MustCompile(`\(PostgreSQL\) ([0-9]+)`)

// inspect returns the programs in dir. It follows a link, because PostgreSQL finds its other files relative to the target.
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
	m := versionText.FindSubmatch(out)
	if m == nil {
		return binaries{}, fmt.Errorf("no version in %q", out)
	}
	return binaries{dir: dir, version: string(m[1])}, nil
}
