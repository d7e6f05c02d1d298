package servers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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

// start starts a server whose output goes to a file in dir, and returns when ready reports that it accepts requests.
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
	if err := c.waitReady(ctx, ready); err != nil {
		err = fmt.Errorf("start %s: %w: %s", name, err, c.lastLines())
		return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *Child) waitReady(ctx context.Context, ready func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !ready(ctx) {
		select {
		case <-c.Done():
			return fmt.Errorf("it ended: %w", c.Err())
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// Stop asks the server to end, and kills it if it does not.
func (c *Child) Stop(ctx context.Context) error {
	return c.Process.Stop(ctx, stopTimeout, syscall.SIGTERM, syscall.SIGKILL)
}

// TruncateLog empties the server's log file: a log of every request would fill the disk.
func (c *Child) TruncateLog() error { return os.Truncate(c.logFile, 0) }

// Logged returns the first lines of the server's log file that contain a text, at most that many.
func (c *Child) Logged(text string, most int) (lines []string, err error) {
	log, err := os.Open(c.logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s := bufio.NewScanner(log)
	for len(lines) < most && s.Scan() {
		if bytes.Contains(s.Bytes(), []byte(text)) {
			lines = append(lines, s.Text())
		}
	}
	return lines, s.Err()
}

func (c *Child) lastLines() string {
	const most = 2000
	text, err := os.ReadFile(c.logFile)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text[max(0, len(text)-most):]))
}

// freeAddrs returns free addresses of the loopback interface.
func freeAddrs(n int) (addrs []string, err error) {
	listeners := make([]io.Closer, 0, n)
	defer func() {
		for _, l := range listeners {
			err = errors.Join(err, l.Close())
		}
	}()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, l)
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// onFreePorts calls launch with free addresses. It tries again if another process takes one of them first.
func onFreePorts(ctx context.Context, n int, launch func(addrs []string) error) error {
	var err error
	for range 3 {
		var addrs []string
		if addrs, err = freeAddrs(n); err != nil {
			return err
		}
		if err = launch(addrs); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}
