//go:build unix

package localpg

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const tempPrefix = "petstore-pg-"

// TempDir makes a folder for the data of servers that do not outlive this process, where PostgreSQL's user can get at it.
// remove removes it; if this process is killed first, the next TempDir of the same user does.
func TempDir() (dir string, remove func(), err error) {
	a, err := accountFor("")
	if err != nil {
		return "", nil, err
	}
	for _, parent := range []string{os.TempDir(), "/tmp", fallbackParent} {
		sweep(parent)
		var problem error
		if dir, remove, problem = tempDirIn(parent, a); problem == nil {
			return dir, remove, nil
		}
		err = errors.Join(err, problem)
	}
	return "", nil, err
}

func tempDirIn(parent string, a account) (dir string, remove func(), err error) {
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
	if err := errors.Join(os.Chmod(dir, 0o755), makeHome(probe, a), os.Remove(probe)); err != nil {
		unlock(lock)
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir); unlock(lock) }, nil
}

// sweep removes the folders of processes that are gone: their locks are free.
func sweep(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, tempPrefix+"*")) // the pattern is well formed
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || !ownedByMe(info) || time.Since(info.ModTime()) < time.Minute {
			continue // a young one may not have its lock yet
		}
		if lock, err := lockDir(dir, tempLockName); err == nil {
			_ = os.RemoveAll(dir) // what is still being written there is for the next sweep
			unlock(lock)
		}
	}
}

func ownedByMe(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
