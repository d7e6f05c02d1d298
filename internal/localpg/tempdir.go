//go:build unix

package localpg

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"petstore.example/internal/ownfiles"
)

const tempPrefix = "petstore-pg-"

// TempDir makes a directory for the data of servers that end with this process, and that the server's user can enter. If this
// process is killed before it calls remove, the same user's next TempDir removes the directory. With inMemory it is in a file system in
// memory if there is one with much room.
func TempDir(inMemory bool) (dir string, remove func(), err error) {
	u, err := userFor("")
	if err != nil {
		return "", nil, err
	}
	parents := []string{os.TempDir(), "/tmp", fallbackParent}
	if inMemory {
		parents = append(roomyMemory(), parents...)
	}
	for _, parent := range parents {
		removeStale(parent)
		dir, remove, parentErr := tempDirIn(parent, u)
		if parentErr == nil {
			return dir, remove, nil
		}
		err = errors.Join(err, parentErr)
	}
	return "", nil, err
}

func tempDirIn(parent string, u osUser) (dir string, remove func(), err error) {
	if parent, err = filepath.EvalSymlinks(parent); err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(parent, tempPrefix); err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	lock, err := lockDir(dir, tempLockName)
	if err != nil {
		return "", nil, err
	}
	probe := filepath.Join(dir, "probe")
	if err := errors.Join(os.Chmod(dir, 0o755), mkdirPrivate(probe, u), os.Remove(probe)); err != nil {
		unlock(lock)
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir); unlock(lock) }, nil
}

// removeStale removes the directories of processes that are gone, which their locks show.
func removeStale(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, tempPrefix+"*")) // the pattern is well formed
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute {
			continue // a new one may not be locked yet
		}
		if uid, ok := ownfiles.Owner(info); !ok || uid != os.Geteuid() {
			continue
		}
		if lock, err := lockDir(dir, tempLockName); err == nil {
			_ = os.RemoveAll(dir) // the next call removes what is still being written there
			unlock(lock)
		}
	}
}
