//go:build unix

package localpg

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ErrNotInstalled says that this machine has no PostgreSQL server, and how to install one.
var ErrNotInstalled = errors.New(
	"PostgreSQL is not installed: apt-get install postgresql, brew install postgresql, or your system's package of it",
)

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

// searchDirs returns the directories that may hold the programs, in order of preference: PATH,
// pg_config's directory, the newest package.
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
		slices.Reverse(found)
		dirs = append(dirs, found...)
	}
	return dirs
}

// findBinaries returns the programs of version want in dirs, or the first ones found if want is
// empty or missing. It returns ErrNotInstalled if there are none.
func findBinaries(ctx context.Context, dirs []string, want string) (first binaries, err error) {
	for _, dir := range dirs {
		b, ok := inspect(ctx, dir)
		if ok && (want == "" || b.version == want) {
			return b, nil
		}
		if ok && first.dir == "" {
			first = b
		}
	}
	if first.dir == "" {
		return first, cmp.Or(ctx.Err(), ErrNotInstalled) // after ctx's end the programs were not run
	}
	return first, nil
}

// versionText requires two digits: versions before 10 are too old.
var versionText = regexp.MustCompile(`\(PostgreSQL\) ([0-9]{2,})`)

// inspect returns the programs in dir. It follows a link, because PostgreSQL finds its other files
// relative to the target.
func inspect(ctx context.Context, dir string) (b binaries, ok bool) {
	postgres, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return b, false
	}
	b.dir = filepath.Dir(postgres)
	if _, err := os.Stat(b.path("initdb")); err != nil {
		return b, false
	}
	out, _ := exec.CommandContext(ctx, postgres, "--version").Output()
	m := versionText.FindSubmatch(out)
	if m == nil {
		return b, false
	}
	b.version = string(m[1])
	return b, true
}
