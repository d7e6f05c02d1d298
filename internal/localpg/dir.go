//go:build unix

package localpg

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// openDir makes and locks the directory. release unlocks it, and removes it when it is temporary.
func openDir(o Options) (dir string, release func(), err error) {
	remove := func() {}
	dir = o.Dir
	if dir == "" {
		if !o.Throwaway {
			return "", nil, errors.New("only a throwaway server may have no directory")
		}
		if dir, remove, err = TempDir(); err != nil {
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

// makeDir makes the directory and returns its path without links, so that the lock and the fallback do not depend on the name.
func makeDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := mkdirAll(dir); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
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
