//go:build unix

package localpg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"petstore.example/internal/subprocess"
)

const (
	startLimit  = 2 * time.Minute
	orphanLimit = 15 * time.Second
)

// settings are given on the command line, so that what a release changes in them holds for data made before it.
func settings(o Options) map[string]string {
	set := map[string]string{
		"listen_addresses":        "",
		"port":                    "5432",
		"unix_socket_permissions": "0700",
		"cluster_name":            "petstore",
		"logging_collector":       "off",
		"log_destination":         "stderr",
		"log_checkpoints":         "off",
		"max_connections":         "200",
		"wal_level":               "minimal",
		"max_wal_senders":         "0",
		"jit":                     "off",
	}
	if o.Throwaway {
		// Commits still reach the system before they are answered, so they outlive the server's being killed, if not the machine's.
		for _, name := range []string{"fsync", "full_page_writes", "autovacuum"} {
			set[name] = "off"
		}
		set["checkpoint_timeout"] = "1h"
		set["max_connections"] = "400"
		set["shared_buffers"] = "32MB"
	}
	if o.SharedBuffers > 0 {
		set["shared_buffers"] = fmt.Sprintf("%dMB", o.SharedBuffers)
	}
	return set
}

// launch starts the server's process and waits until it takes connections. When a killed server's processes are still at work on
// the data, it waits for them first: PostgreSQL sees them even where this process cannot.
func (s *Server) launch(ctx context.Context, b binaries, o Options) error {
	for end := time.Now().Add(orphanLimit); ; {
		err := s.launchOnce(ctx, b, o)
		if err == nil || !strings.Contains(err.Error(), "pre-existing shared memory block") || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (s *Server) launchOnce(ctx context.Context, b binaries, o Options) error {
	args := []string{"-D", s.place.data(), "-k", s.place.sockets}
	for name, value := range settings(o) {
		args = append(args, "-c", name+"="+value)
	}
	log, size, err := openLog(s.logFile)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := s.place.account.own(s.logFile); err != nil {
		return err
	}
	s.logFrom = size
	cmd := exec.Command(b.path("postgres"), args...)
	cmd.Dir = s.place.home
	cmd.Stdout, cmd.Stderr = log, log
	s.place.account.apply(cmd)
	orphaned := syscall.SIGINT
	if o.Throwaway {
		orphaned = syscall.SIGQUIT // which also ends processes that a test has frozen
	}
	if s.process, err = subprocess.Start(cmd, orphaned); err != nil {
		return err
	}
	if err := s.ready(ctx); err != nil {
		return errors.Join(err, s.end(context.WithoutCancel(ctx)))
	}
	return nil
}

func (s *Server) ready(ctx context.Context) error {
	ended := false
	err := waitFor(ctx, startLimit, func() bool {
		select {
		case <-s.process.Done():
			ended = true
			return true
		default:
		}
		f, err := readPIDFile(s.place.data())
		return err == nil && f.pid == s.process.PID() && f.status == "ready"
	})
	if ended {
		return cmp.Or(s.Err(), errors.New("the server ended at once"))
	}
	if err != nil {
		return fmt.Errorf("wait until it is ready: %w", err)
	}
	return nil
}
