//go:build unix

package localpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"petstore.example/internal/ownfiles"
)

// openDir makes and locks the directory. release unlocks it, and removes it when it is temporary.
func openDir(o Options) (dir string, release func(), err error) {
	remove := func() {}
	dir = o.Dir
	if dir == "" {
		if !o.Throwaway {
			return "", nil, errors.New("only a throwaway server may have no directory")
		}
		if dir, remove, err = TempDir(o.InMemory); err != nil {
			return "", nil, err
		}
	}
	if dir, err = makeDir(dir); err != nil {
		remove()
		return "", nil, err
	}
	lock, err := lockDir(dir, lockName)
	if err != nil {
		remove()
		return "", nil, err
	}
	return dir, func() { unlock(lock); remove() }, nil
}

// makeDir makes the directory and returns its path without links, so that the lock and the fallback do not depend on the name. A directory in
// which another user could write is refused: this process, which may be root, makes, opens and chowns files there.
func makeDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := mkdirAll(dir); err != nil {
		return "", err
	}
	dir, err = ownfiles.Resolve(dir)
	if err == nil {
		err = ownfiles.CheckDir(dir)
	}
	if untrusted := (*ownfiles.UntrustedError)(nil); errors.As(err, &untrusted) {
		return "", fmt.Errorf("%w: use another directory", err)
	}
	if errors.Is(err, fs.ErrPermission) {
		return "", ownersOnly(dir)
	}
	return dir, err
}

// ownersOnly is the error of a directory that this user may not use.
func ownersOnly(dir string) error {
	owner, _ := ownerOf(dir)
	return fmt.Errorf("%s belongs to %s: start as that user, or use another directory", dir, ownfiles.UserName(owner))
}

// mkdirAll is os.MkdirAll with mode 0711 whatever the umask: the server's user can pass through, and nobody else can list.
func mkdirAll(dir string) error {
	err := os.Mkdir(dir, 0o711)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		if err := mkdirAll(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o711)
	}
	if errors.Is(err, fs.ErrExist) {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		return err
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, 0o711)
}
