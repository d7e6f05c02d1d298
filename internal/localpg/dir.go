//go:build unix

package localpg

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// takeDir makes and locks the folder. release unlocks it, and removes it when it was made for this server.
func takeDir(o Options) (dir string, release func(), err error) {
	remove := func() {}
	dir = o.Dir
	if dir == "" {
		if !o.Throwaway {
			return "", nil, errors.New("no folder is named for data that should last")
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

// makeDir returns the folder's true name, which its other names must not hide from lock and fallback.
func makeDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := makePassable(dir); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// makePassable makes the folder and its parents, as far as they are missing, such that the server's user can pass through them
// whatever the umask, and nobody can look into them.
func makePassable(dir string) error {
	err := os.Mkdir(dir, 0o711)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		if err := makePassable(filepath.Dir(dir)); err != nil {
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
