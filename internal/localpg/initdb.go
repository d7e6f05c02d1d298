//go:build unix

package localpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"petstore.example/internal/subprocess"
)

// versionOf returns the major version of the data in pgdata, "" when there is none yet.
func versionOf(pgdata string) (string, error) {
	text, err := os.ReadFile(filepath.Join(pgdata, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// prepare finds the programs that fit the data and makes the data ready for a server: it creates what is missing, and ends the
// processes of an earlier server.
func prepare(ctx context.Context, o Options, d dataDir, dirs []string) (binaries, error) {
	version, err := versionOf(d.pgdata())
	if err != nil {
		return binaries{}, err
	}
	b, err := findBinaries(ctx, dirs, version)
	switch {
	case err != nil:
		return binaries{}, err
	case version == b.version:
		return b, endOrphans(ctx, d)
	case version != "":
		return binaries{}, fmt.Errorf("%s holds data of PostgreSQL %s, but PostgreSQL %s is installed: install version %s, or move the directory away to start with an empty database",
			d.path, version, b.version, version)
	}
	if !o.Throwaway {
		o.logf("creating a database with PostgreSQL %s in %s", b.version, d.path)
	}
	return b, initDB(ctx, b, d)
}

// initDB creates an empty cluster whose superuser is postgres. It renames the directory to pgdata at the end, so that an
// interrupted attempt leaves nothing that looks like a cluster.
func initDB(ctx context.Context, b binaries, d dataDir) error {
	unfinished, err := newPGData(d)
	if err != nil {
		return err
	}
	// Trust needs no password: the permissions of the socket's directory decide who can connect.
	cmd := exec.Command(b.path("initdb"), "-D", unfinished, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	cmd.Dir = d.path
	d.user.run(cmd)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	process, err := subprocess.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	select {
	case <-process.Done():
	case <-ctx.Done():
		return errors.Join(ctx.Err(), process.Stop(ctx, 10*time.Second, syscall.SIGTERM, syscall.SIGKILL))
	}
	if err := process.Err(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, usefulLines(out.String()))
	}
	return os.Rename(unfinished, d.pgdata())
}

// newPGData makes a directory for a new cluster and removes those of interrupted attempts.
func newPGData(d dataDir) (string, error) {
	const prefix = "data.new-"
	leftovers, _ := filepath.Glob(filepath.Join(d.path, prefix+"*")) // the pattern is well formed
	for _, dir := range leftovers {
		_ = os.RemoveAll(dir) // one that stays does no harm
	}
	dir, err := os.MkdirTemp(d.path, prefix)
	if err != nil {
		return "", err
	}
	return dir, d.user.chown(dir)
}
