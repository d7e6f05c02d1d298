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

// readPIDFile returns the process id and the status (starting, ready, stopping; empty at first) in the server's own lock file,
// and fs.ErrNotExist when there is none.
func readPIDFile(pgdata string) (pid int, status string, err error) {
	text, err := os.ReadFile(filepath.Join(pgdata, "postmaster.pid"))
	if err != nil {
		return 0, "", err
	}
	lines := strings.Split(string(text), "\n")
	if pid, err = strconv.Atoi(strings.TrimSpace(lines[0])); err != nil {
		return 0, "", fmt.Errorf("read postmaster.pid: %w", err)
	}
	// The eighth line is the status: https://github.com/postgres/postgres/blob/master/src/include/utils/pidfile.h
	if len(lines) >= 8 {
		status = strings.TrimSpace(lines[7])
	}
	return pid, status, nil
}

// endOrphans ends the processes that an earlier server left, and removes its lock files when their process id now belongs to
// another process, which PostgreSQL would take for a running server. The caller has locked the directory.
func endOrphans(ctx context.Context, d dataDir) error {
	signals := []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, 15 * time.Second}, {syscall.SIGQUIT, 10 * time.Second}, {syscall.SIGKILL, 5 * time.Second}}
	none := func() bool { return len(processesOn(d.pgdata())) == 0 }
	for _, s := range signals {
		if none() {
			return removeLockFiles(d)
		}
		for _, pid := range processesOn(d.pgdata()) {
			_ = syscall.Kill(pid, s.signal) // an error means that it has just ended
		}
		if err := waitFor(ctx, s.wait, none); err != nil && ctx.Err() != nil {
			return fmt.Errorf("wait for the previous server to end: %w", err)
		}
	}
	if pids := processesOn(d.pgdata()); len(pids) > 0 {
		return fmt.Errorf("the previous server (pid %d) is still running", pids[0])
	}
	return removeLockFiles(d)
}

func removeLockFiles(d dataDir) error {
	pid, _, err := readPIDFile(d.pgdata())
	if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return nil // PostgreSQL handles the file of a process that is gone
	}
	for _, name := range []string{filepath.Join(d.pgdata(), "postmaster.pid"), filepath.Join(d.socketDir, socketName+".lock")} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// waitFor polls the condition until it holds, ctx ends or the timeout has passed.
func waitFor(ctx context.Context, timeout time.Duration, condition func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %v", timeout))
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}
