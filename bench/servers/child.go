package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"petstore.example/internal/subprocess"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
)

// Child is a running server.
type Child struct {
	*subprocess.Process
	logFile string
}

// start starts a server whose output goes to a file in dir, and returns when ready reports that it
// accepts requests.
func start(ctx context.Context, dir, name string, cmd *exec.Cmd, ready func(context.Context) bool) (*Child, error) {
	c := &Child{logFile: filepath.Join(dir, name+".log")}
	log, err := os.OpenFile(c.logFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	cmd.Stderr = log
	if c.Process, err = subprocess.Start(cmd, syscall.SIGTERM); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !ready(waiting) {
		select {
		case <-c.Done():
			return nil, fmt.Errorf("start %s: it ended: %w: %s", name, c.Err(), c.lastLines())
		case <-waiting.Done():
			err := fmt.Errorf("start %s: it is not ready: %w: %s", name, waiting.Err(), c.lastLines())
			return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		case <-time.After(10 * time.Millisecond):
		}
	}
	return c, nil
}

// Stop asks the server to end, and kills it if it does not.
func (c *Child) Stop(ctx context.Context) error {
	return c.Process.Stop(ctx, stopTimeout, syscall.SIGTERM, syscall.SIGKILL)
}

// TruncateLog empties the server's log file: a log of every request would fill the disk.
func (c *Child) TruncateLog() error { return os.Truncate(c.logFile, 0) }

// Logged returns the first lines of the server's log file that contain a text, at most that many.
func (c *Child) Logged(text string, most int) (lines []string, err error) {
	log, err := os.ReadFile(c.logFile)
	for line := range bytes.Lines(log) {
		if len(lines) < most && bytes.Contains(line, []byte(text)) {
			lines = append(lines, string(line))
		}
	}
	return lines, err
}

func (c *Child) lastLines() string {
	const most = 2000
	text, _ := os.ReadFile(c.logFile) // If it can't be read, the error of the start says enough.
	return string(bytes.TrimSpace(text[max(0, len(text)-most):]))
}

// onFreePorts calls launch with free addresses. It tries again if another process takes one of them
// first.
func onFreePorts(ctx context.Context, n int, launch func(addrs []string) error) error {
	var err error
	for try := 0; try == 0 || err != nil && try < 3 && ctx.Err() == nil; try++ {
		addrs := make([]string, n)
		for i := range addrs {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			addrs[i] = l.Addr().String()
			if err := l.Close(); err != nil {
				return err
			}
		}
		err = launch(addrs)
	}
	return err
}

// Build builds a command of this module as make does.
func Build(ctx context.Context, command, file string) error {
	cmd := exec.CommandContext(
		ctx,
		"go",
		"build",
		"-tags",
		"nomsgpack",
		"-trimpath",
		"-o",
		file,
		"petstore.example/cmd/"+command,
	)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", command, err, out)
	}
	return nil
}

// Cleanups are what is to be done in the end.
type Cleanups struct{ all []func(context.Context) error }

// Cleanup has TearDown call f.
func (c *Cleanups) Cleanup(f func(context.Context) error) { c.all = append(c.all, f) }

// TearDown calls all functions once, the last one first.
func (c *Cleanups) TearDown(ctx context.Context) error {
	var errs []error
	for _, f := range slices.Backward(c.all) {
		errs = append(errs, f(ctx))
	}
	c.all = nil
	return errors.Join(errs...)
}
