//go:build unix

package localpg

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Freeze halts all the server's processes: connections stay open and nothing answers, as with a machine that hangs.
func (s *Server) Freeze() error {
	// The first process goes first, so that it starts no others meanwhile.
	if err := s.process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freeze PostgreSQL: %w", err)
	}
	return s.signalAll(syscall.SIGSTOP)
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw() error { return s.signalAll(syscall.SIGCONT) }

// Kill ends all the server's processes at once, as kill -9 or a power cut would, and gives the folder back.
func (s *Server) Kill() error {
	// Once the first process is gone, its orphans are harder to find.
	err := errors.Join(s.Freeze(), s.signalAll(syscall.SIGKILL))
	gone := func() bool { return len(running(s.place.data())) == 0 }
	err = errors.Join(err, waitFor(context.Background(), 10*time.Second, gone))
	<-s.process.Done()
	s.stop.Do(s.release)
	return err
}

func (s *Server) signalAll(sig syscall.Signal) error {
	for _, pid := range running(s.place.data()) {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal PostgreSQL: %w", err)
		}
	}
	return nil
}
