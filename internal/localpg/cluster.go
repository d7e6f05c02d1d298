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

// dataVersion returns the major version of the data in the folder, "" when there is none yet.
func dataVersion(data string) (string, error) {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// VersionError says that data was written by another version of PostgreSQL than the one that is installed.
type VersionError struct {
	Dir             string
	Data, Installed string // major versions
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s holds data of PostgreSQL %s, but PostgreSQL %s is installed: install version %s, or move the folder away to begin anew",
		e.Dir, e.Data, e.Installed, e.Data)
}

// prepare creates the data when there is none, and otherwise makes sure that nobody else works on it.
func prepare(ctx context.Context, o Options, b binaries, p place) error {
	if hasCluster(p.home) {
		return clearOut(ctx, p)
	}
	if !o.Throwaway {
		o.say("creating a database with PostgreSQL %s in %s", b.version, p.home)
	}
	return create(ctx, b, p)
}

// create makes an empty cluster whose superuser is postgres. The folder gets its name when all is in it: an attempt that was
// broken off leaves nothing that looks like a cluster.
func create(ctx context.Context, b binaries, p place) error {
	unfinished, err := newFolder(p)
	if err != nil {
		return err
	}
	// Trust needs no password to be kept: the socket's folder decides who gets in.
	cmd := exec.Command(b.path("initdb"), "-D", unfinished, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	cmd.Dir = p.home
	p.account.apply(cmd)
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
	return os.Rename(unfinished, p.data())
}

// newFolder makes a folder for a new cluster and removes those of attempts that were broken off.
func newFolder(p place) (string, error) {
	const prefix = "data.new-"
	leftovers, _ := filepath.Glob(filepath.Join(p.home, prefix+"*")) // the pattern is well formed
	for _, dir := range leftovers {
		_ = os.RemoveAll(dir) // what cannot be removed is not in the way either
	}
	dir, err := os.MkdirTemp(p.home, prefix)
	if err != nil {
		return "", err
	}
	return dir, p.account.own(dir)
}
