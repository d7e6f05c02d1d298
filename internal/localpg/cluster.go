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

// create makes an empty cluster whose superuser is postgres. The folder gets its name when all is in it: an attempt that was
// broken off leaves nothing that looks like a cluster.
func create(ctx context.Context, b binaries, p place) error {
	unfinished := filepath.Join(p.home, "data.new")
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	// Without -A trust on a socket that only the owner reaches there would be a password to keep.
	cmd := exec.CommandContext(ctx, b.path("initdb"), "-D", unfinished, "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync")
	cmd.Dir = p.home
	p.account.apply(cmd)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, usefulLines(out.String()))
	}
	return os.Rename(unfinished, p.data())
}
