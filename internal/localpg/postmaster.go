//go:build unix

package localpg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pidFile is what PostgreSQL writes into postmaster.pid, as far as it matters here.
type pidFile struct {
	pid    int
	status string // starting, ready, stopping; empty before the server has said so
}

// readPIDFile returns the content of the server's own lock file, and fs.ErrNotExist when there is none.
func readPIDFile(data string) (pidFile, error) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return pidFile{}, err
	}
	lines := strings.Split(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return pidFile{}, fmt.Errorf("read postmaster.pid: %w", err)
	}
	// The eighth line is the status: https://github.com/postgres/postgres/blob/master/src/include/utils/pidfile.h
	f := pidFile{pid: pid}
	if len(lines) >= 8 {
		f.status = strings.TrimSpace(lines[7])
	}
	return f, nil
}

// clearOut ends what an earlier server left running on the folder, and removes its lock files when their process id is by now
// another process's, which PostgreSQL would take for a running server. The caller holds the folder's lock, so nobody needs what
// is ended here.
func clearOut(ctx context.Context, p place) error {
	signals := []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, 15 * time.Second}, {syscall.SIGQUIT, 10 * time.Second}, {syscall.SIGKILL, 5 * time.Second}}
	for _, s := range signals {
		pids := running(p.data())
		if len(pids) == 0 {
			return removeLockFiles(p)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, s.signal) // it has just ended: the next look shows it
		}
		if err := waitFor(ctx, s.wait, func() bool { return len(running(p.data())) == 0 }); errors.Is(err, ctx.Err()) && err != nil {
			return fmt.Errorf("wait for the server before to end: %w", err)
		}
	}
	if pids := running(p.data()); len(pids) > 0 {
		return fmt.Errorf("the server before (pid %d) does not end", pids[0])
	}
	return removeLockFiles(p)
}

func removeLockFiles(p place) error {
	f, err := readPIDFile(p.data())
	if err == nil && errors.Is(syscall.Kill(f.pid, 0), syscall.ESRCH) {
		return nil // PostgreSQL knows better what to do with the file of a process that is gone
	}
	for _, name := range []string{filepath.Join(p.data(), "postmaster.pid"), filepath.Join(p.sockets, socketName+".lock")} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

var errTooLong = errors.New("it takes too long")

// waitFor looks at the condition until it holds, within at most the time limit.
func waitFor(ctx context.Context, limit time.Duration, condition func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(limit)
	for !condition() {
		if time.Now().After(end) {
			return errTooLong
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
