//go:build unix

package localpg

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Pause stops all the server's processes until Resume: connections stay open and get no reply, as when a machine hangs.
func (s *Server) Pause() error {
	// The postmaster first, so that it starts no further processes.
	if err := s.process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("pause PostgreSQL: %w", err)
	}
	return s.signalAll(syscall.SIGSTOP)
}

// Resume continues a paused server.
func (s *Server) Resume() error { return s.signalAll(syscall.SIGCONT) }

// Kill ends all the server's processes at once, as kill -9 or a power cut would, and unlocks the directory.
func (s *Server) Kill() error {
	// Paused first: without the postmaster its children are harder to find.
	err := errors.Join(s.Pause(), s.signalAll(syscall.SIGKILL))
	gone := func() bool { return len(processesOn(s.dir.pgdata())) == 0 }
	err = errors.Join(err, waitFor(context.Background(), 10*time.Second, gone))
	<-s.process.Done()
	s.stop.Do(s.release)
	return err
}

func (s *Server) signalAll(sig syscall.Signal) error {
	for _, pid := range processesOn(s.dir.pgdata()) {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal PostgreSQL: %w", err)
		}
	}
	return nil
}
