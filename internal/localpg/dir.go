//go:build unix

package localpg

import (
	"errors"
	"os"
	"path/filepath"
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
	return dir, func() { _ = lock.Close(); remove() }, nil
}

// makeDir returns the folder's true name, which its other names must not hide from lock and fallback.
func makeDir(dir string) (string, error) {
	if _, err := os.Stat(dir); err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask: the server's user has to pass
			return "", err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}
