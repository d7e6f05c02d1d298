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
	lockName     = "lock"      // of a server on the folder
	tempLockName = "lock.temp" // of the process that made a temporary folder
)

// InUseError says that another process uses the folder.
type InUseError struct {
	Dir string
	PID int // 0 when it is not known
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("another petstore dev (pid %d) is using %s", e.PID, e.Dir)
}

// lockDir takes the folder for this process; the kernel gives it back when the process ends. It returns an *InUseError when
// another process, or another Server of this one, has it.
func lockDir(dir, lock string) (*os.File, error) {
	name := filepath.Join(dir, lock)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if errors.Is(err, fs.ErrPermission) {
		owner, _ := ownerOf(name)
		return nil, fmt.Errorf("%s belongs to %s: start as that user, or name another folder", dir, userName(owner))
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &InUseError{Dir: dir, PID: lockHolder(f)}
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

func lockHolder(f *os.File) int {
	text, _ := io.ReadAll(io.LimitReader(f, 32))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// unlock gives the lock back now: closing the file alone leaves it with a child process that another goroutine is just starting.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}
