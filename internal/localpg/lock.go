//go:build unix

package localpg

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	lockName     = "lock"      // held while a server uses the directory
	tempLockName = "lock.temp" // held by the process that made a temporary directory
)

// lockDir locks the directory; the kernel unlocks it when this process ends. It fails when another process, or another Server of
// this one, has locked it.
func lockDir(dir, lock string) (*os.File, error) {
	name := filepath.Join(dir, lock)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if errors.Is(err, fs.ErrPermission) {
		return nil, ownersOnly(dir)
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			holder, _ := io.ReadAll(io.LimitReader(f, 32))
			return nil, fmt.Errorf("another petstore dev (pid %s) is using %s", strings.TrimSpace(string(holder)), dir)
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if err := writePID(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return f, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// unlock unlocks explicitly: a child process that another goroutine is just starting may hold a copy of the descriptor.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}
