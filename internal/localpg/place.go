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
	"syscall"
)

const (
	// maxSocketPath is the longest path of a socket that both Linux (107) and macOS (103) take.
	maxSocketPath = 103
	socketName    = ".s.PGSQL.5432"

	// fallbackParent outlives a restart of the machine, and every user may enter it.
	fallbackParent = "/var/tmp"
)

// place is where a server keeps its things.
type place struct {
	account account
	home    string // belongs to the account alone; data and, where its path is short enough, the socket are in it
	sockets string
}

func (p place) data() string { return filepath.Join(p.home, "data") }

// settle finds the place for the server of dir: dir/postgres, or when the server's user cannot work there, a folder under
// /var/tmp whose name comes from dir's. Data that is in either of them already decides.
func settle(dir string, say func(format string, args ...any)) (place, error) {
	home := filepath.Join(dir, "postgres")
	elsewhere := filepath.Join(fallbackParent, shortName(dir))
	if hasCluster(filepath.Join(elsewhere, "postgres")) && !hasCluster(home) {
		return settleElsewhere(dir, elsewhere, "", say)
	}
	a, err := accountFor(filepath.Join(home, "data"))
	if err != nil {
		return place{}, err
	}
	if err := makeHome(home, a); err != nil {
		if hasCluster(home) {
			return place{}, fmt.Errorf("%s cannot work in %s: %w", a.name, home, err)
		}
		_ = os.Remove(home)
		return settleElsewhere(dir, elsewhere, fmt.Sprintf("%s cannot work in %s (%s)", a.name, home, reason(home, err)), say)
	}
	return withSockets(place{account: a, home: home}, dir)
}

func settleElsewhere(dir, elsewhere, why string, say func(string, ...any)) (place, error) {
	if err := makeOwn(elsewhere, os.Geteuid()); err != nil {
		return place{}, err
	}
	home := filepath.Join(elsewhere, "postgres")
	a, err := accountFor(filepath.Join(home, "data"))
	if err != nil {
		return place{}, err
	}
	if err := makeHome(home, a); err != nil {
		return place{}, fmt.Errorf("%s cannot work in %s: %w", a.name, home, err)
	}
	if why != "" {
		why += ": "
	}
	say("%sthe data of %s is in %s", why, dir, home)
	return withSockets(place{account: a, home: home}, dir)
}

// withSockets puts the socket into home, or into a short folder in /tmp when its path would be too long.
func withSockets(p place, dir string) (place, error) {
	p.sockets = p.home
	if len(filepath.Join(p.home, socketName)) <= maxSocketPath {
		return p, nil
	}
	p.sockets = filepath.Join("/tmp", shortName(dir)+"-socket")
	if err := makeOwn(p.sockets, os.Geteuid(), p.account.uid); err != nil {
		return place{}, err
	}
	return p, errors.Join(p.account.own(p.sockets), os.Chmod(p.sockets, 0o700))
}

// shortName is a name for dir's things in a folder shared by all users.
func shortName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return fmt.Sprintf("petstore-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:6]))
}

func hasCluster(home string) bool {
	_, err := os.Stat(filepath.Join(home, "data", "PG_VERSION"))
	return err == nil
}

// makeOwn makes a folder that others may pass through. Where all users may write, someone else may have been there first: a
// folder of that name must be a real one, owned by one of owners and writable by nobody else.
func makeOwn(dir string, owners ...int) error {
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
	stat, ok := info.Sys().(*syscall.Stat_t)
	for _, owner := range owners {
		if ok && info.IsDir() && info.Mode().Perm()&0o022 == 0 && int(stat.Uid) == owner {
			return nil
		}
	}
	return fmt.Errorf("%s is in the way: it is not a folder of %s's alone", dir, userName(owners[0]))
}

// makeHome makes the folder home for the account alone and proves that the account can work in it.
func makeHome(home string, a account) error {
	if err := os.Mkdir(home, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := errors.Join(a.own(home), os.Chmod(home, 0o700)); err != nil {
		return err
	}
	// Asking the system settles it, whatever decides: modes, access lists, a network's or a container's idea of users.
	cmd := exec.Command("/bin/sh", "-c", `cd "$1" && : >.probe && rm .probe`, "sh", home)
	cmd.Dir = "/"
	a.apply(cmd)
	if err := cmd.Run(); err != nil {
		return fs.ErrPermission
	}
	info, err := os.Stat(home)
	if err == nil && info.Mode().Perm() != 0o700 {
		return errors.New("its file system keeps no modes")
	}
	return err
}

// reason names the folder that shuts the account out, where the modes show it.
func reason(home string, err error) string {
	if !errors.Is(err, fs.ErrPermission) {
		return err.Error()
	}
	for dir := filepath.Dir(home); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			return fmt.Sprintf("%s has mode %#o", dir, info.Mode().Perm())
		}
		if dir == filepath.Dir(dir) {
			return err.Error()
		}
	}
}
