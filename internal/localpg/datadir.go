//go:build unix

package localpg

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"petstore.example/internal/ownfiles"
)

const (
	// maxSocketPath is the longest socket path that both Linux (107) and macOS (103) accept.
	maxSocketPath = 103
	socketName    = ".s.PGSQL.5432"

	// fallbackParent survives a restart of the machine, and every user may enter it.
	fallbackParent = "/var/tmp"
)

// dataDir is where a server keeps its data.
type dataDir struct {
	user      osUser
	path      string // only the user may enter it
	socketDir string // path, unless that is too long for a socket
}

func (d dataDir) pgdata() string { return filepath.Join(d.path, "data") }

// resolveDataDir returns the data directory for dir: dir/postgres, or, when the server's user cannot work there, a directory
// under /var/tmp whose name is derived from dir. When one of them holds data already, it is that one.
func resolveDataDir(dir string, logf func(format string, args ...any)) (dataDir, error) {
	path, fallback := filepath.Join(dir, "postgres"), filepath.Join(fallbackParent, shortName(dir))
	problem := ""
	if hasCluster(path) || !hasCluster(filepath.Join(fallback, "postgres")) {
		d, err := makeDataDir(path)
		if err == nil {
			return d.withSocketDir(dir)
		}
		if hasCluster(path) {
			return dataDir{}, err
		}
		_ = os.Remove(path)
		problem = err.Error() + ": "
	}
	if err := mkdirShared(fallback, os.Geteuid()); err != nil {
		return dataDir{}, err
	}
	d, err := makeDataDir(filepath.Join(fallback, "postgres"))
	if err != nil {
		return dataDir{}, err
	}
	logf("%sthe data of %s is stored in %s", problem, dir, d.path)
	return d.withSocketDir(dir)
}

func makeDataDir(path string) (dataDir, error) {
	d := dataDir{path: path, socketDir: path}
	var err error
	if d.user, err = userFor(d.pgdata()); err != nil {
		return dataDir{}, err
	}
	if err := mkdirPrivate(path, d.user); err != nil {
		return dataDir{}, fmt.Errorf("%s cannot write to %s: %w", d.user.name, path, explain(path, err))
	}
	return d, nil
}

// withSocketDir puts the socket into a short directory in /tmp when its path would be too long.
func (d dataDir) withSocketDir(dir string) (dataDir, error) {
	if len(filepath.Join(d.path, socketName)) <= maxSocketPath {
		return d, nil
	}
	d.socketDir = filepath.Join("/tmp", shortName(dir)+"-socket")
	if err := mkdirShared(d.socketDir, os.Geteuid(), d.user.uid); err != nil {
		return dataDir{}, err
	}
	return d, errors.Join(d.user.chown(d.socketDir), os.Chmod(d.socketDir, 0o700))
}

// shortName is a name for what belongs to dir in a directory that all users share.
func shortName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return fmt.Sprintf("petstore-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:6]))
}

func hasCluster(path string) bool {
	_, err := os.Stat(filepath.Join(path, "data", "PG_VERSION"))
	return err == nil
}

// mkdirShared makes a directory in a parent that all users may write to, so another user may have made it first: one that exists
// must be a real directory, owned by one of owners and writable by nobody else.
func mkdirShared(dir string, owners ...int) error {
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		return os.Chmod(dir, 0o755) // whatever the umask
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	uid, ok := ownfiles.Owner(info)
	if ok && info.IsDir() && info.Mode().Perm()&0o022 == 0 && slices.Contains(owners, uid) {
		return nil
	}
	return fmt.Errorf("%s already exists, and is not a directory that only %s can write to", dir, ownfiles.UserName(owners[0]))
}

// mkdirPrivate makes a directory that only the user may enter, and proves that the user can write to it.
func mkdirPrivate(dir string, u osUser) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := errors.Join(u.chown(dir), os.Chmod(dir, 0o700)); err != nil {
		return err
	}
	// A try is the only sure test: modes, access lists, network file systems and containers all have a say.
	cmd := exec.Command("/bin/sh", "-c", `cd "$1" && : >.probe && rm .probe`, "sh", dir)
	cmd.Dir = "/"
	u.run(cmd)
	if err := cmd.Run(); err != nil {
		return fs.ErrPermission
	}
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm() != 0o700 {
		return errors.New("the file system does not store permissions")
	}
	return err
}

// explain returns err, or for a missing permission the parent that the user cannot pass, where the modes show it.
func explain(path string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("%s has mode %#o", dir, info.Mode().Perm())
		}
		if dir == filepath.Dir(dir) {
			return err
		}
	}
}
