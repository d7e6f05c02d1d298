//go:build unix

package localpg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"petstore.example/internal/subprocess"
)

const (
	startTimeout  = 2 * time.Minute
	orphanTimeout = 15 * time.Second
)

// settings are given on the command line, so that a change in a release applies to existing data.
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
		// A commit still reaches the kernel before it is acknowledged: it survives a kill of the server, not a crash of the machine.
		for _, name := range []string{"fsync", "full_page_writes", "autovacuum"} {
			set[name] = "off"
		}
		set["checkpoint_timeout"] = "1h"
		// Tests have standbys, and commits that wait for one.
		set["wal_level"], set["max_wal_senders"] = "replica", "4"
		set["max_connections"] = "400"
		set["shared_buffers"] = "32MB"
	}
	if o.MaxConnections > 0 {
		set["max_connections"] = fmt.Sprint(o.MaxConnections)
	}
	if o.SharedBuffers > 0 {
		set["shared_buffers"] = fmt.Sprintf("%dMB", o.SharedBuffers)
	}
	maps.Copy(set, o.Settings)
	return set
}

// launch starts the server and waits until it accepts connections. It tries again while processes of a killed server still use
// the data: PostgreSQL sees them even where processesOn does not.
func (s *Server) launch(ctx context.Context, b binaries, o Options) error {
	for end := time.Now().Add(orphanTimeout); ; {
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
	args := []string{"-D", s.dir.pgdata(), "-k", s.dir.socketDir}
	for name, value := range settings(o) {
		args = append(args, "-c", name+"="+value)
	}
	log, size, err := openLog(filepath.Dir(s.logFile), s.dir.user)
	if err != nil {
		return err
	}
	defer log.Close()
	s.logFrom = size
	cmd := exec.Command(b.path("postgres"), args...)
	cmd.Dir = s.dir.path
	cmd.Stdout, cmd.Stderr = log, log
	s.dir.user.run(cmd)
	orphaned := syscall.SIGINT
	if o.Throwaway {
		orphaned = syscall.SIGQUIT // which also ends processes that a test has paused
	}
	if s.process, err = subprocess.Start(cmd, orphaned); err != nil {
		return err
	}
	if err := s.waitReady(ctx); err != nil {
		return errors.Join(err, s.end(context.WithoutCancel(ctx)))
	}
	return nil
}

func (s *Server) waitReady(ctx context.Context) error {
	ended := false
	err := waitFor(ctx, startTimeout, func() bool {
		select {
		case <-s.process.Done():
			ended = true
			return true
		default:
		}
		pid, status, err := readPIDFile(s.dir.pgdata())
		return err == nil && pid == s.process.PID() && status == "ready"
	})
	if ended {
		return cmp.Or(s.Err(), errors.New("the server ended at once"))
	}
	if err != nil {
		return fmt.Errorf("wait until the server is ready: %w", err)
	}
	return nil
}
