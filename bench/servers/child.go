// Package servers starts the servers that a benchmark needs: PostgreSQL, Redis, petstore, bare Gin
// and a build from well-known parts. All are child processes on the loopback address, and end with
// this process.
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

// Server is a running server.
type Server struct {
	*subprocess.Process
	// URL is http://127.0.0.1:port. AdminURL has another port; only petstore uses it.
	URL, AdminURL string
}

// serve starts a server with a command that uses two free addresses, and returns when it is ready.
// Its output goes to the file name.log in dir. If another process takes one of the addresses first,
// serve tries again with others.
func serve(
	ctx context.Context, dir, name string,
	command func(addrs [2]string) (*exec.Cmd, error), ready func(context.Context, *Server) bool,
) (s *Server, err error) {
	for try := 0; try == 0 || err != nil && try < 3 && ctx.Err() == nil; try++ {
		var addrs [2]string
		for i := range addrs {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			addrs[i] = l.Addr().String()
			if err := l.Close(); err != nil {
				return nil, err
			}
		}
		s = &Server{URL: "http://" + addrs[0], AdminURL: "http://" + addrs[1]}
		cmd, err := command(addrs)
		if err != nil {
			return nil, err
		}
		if err = s.start(ctx, filepath.Join(dir, name+".log"), cmd, ready); err == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("start %s: %w", name, err)
}

func (s *Server) start(
	ctx context.Context, file string, cmd *exec.Cmd, ready func(context.Context, *Server) bool,
) error {
	log, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if s.Process, err = subprocess.Start(cmd, syscall.SIGTERM); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !ready(waiting, s) {
		select {
		case <-s.Done():
			text, _ := os.ReadFile(file) // If it can't be read, the error says enough.
			return fmt.Errorf("it ended: %w: %s", s.Err(), bytes.TrimSpace(text[max(0, len(text)-2000):]))
		case <-waiting.Done():
			return errors.Join(errors.New("it is not ready"), waiting.Err(), s.Stop(context.WithoutCancel(ctx)))
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// accepts reports whether a server accepts connections.
func accepts(ctx context.Context, s *Server) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.URL[len("http://"):])
	return err == nil && conn.Close() == nil
}

// Stop asks the server to end, and kills it if it does not.
func (s *Server) Stop(ctx context.Context) error {
	return s.Process.Stop(ctx, stopTimeout, syscall.SIGTERM, syscall.SIGKILL)
}

// EmptyLogs empties the logs of all servers that were started in dir.
func EmptyLogs(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, log := range logs {
		err = errors.Join(err, os.Truncate(log, 0))
	}
	return err
}

// Cleanups are functions to call at the end.
type Cleanups struct{ all []func(context.Context) error }

// Cleanup makes TearDown call f.
func (c *Cleanups) Cleanup(f func(context.Context) error) { c.all = append(c.all, f) }

// TearDown calls all functions once, the last one first.
func (c *Cleanups) TearDown(ctx context.Context) (err error) {
	for _, f := range slices.Backward(c.all) {
		err = errors.Join(err, f(ctx))
	}
	c.all = nil
	return err
}
