// Package pgtest starts PostgreSQL servers for tests and benchmarks, whose data goes with them.
//
// The data does not survive a crash of the machine, but a kill of the server. If this process is
// killed, the server ends by itself, and the next TempDir removes its files. All functions are safe
// for concurrent use.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"petstore.example/internal/localpg"
)

// Server is a running server.
type Server struct {
	*localpg.Server
	dir    string
	remove func()
}

// Start starts a server in a TempDir, with further settings of PostgreSQL.
func Start(ctx context.Context, inMemory bool, settings map[string]string) (*Server, error) {
	dir, remove, err := TempDir(inMemory)
	if err != nil {
		return nil, err
	}
	s, err := StartIn(ctx, filepath.Join(dir, "server"), settings)
	if err != nil {
		remove()
		return nil, err
	}
	s.remove = remove
	return s, nil
}

// StartIn starts a server on a directory below a TempDir, with the data that is there already.
func StartIn(ctx context.Context, dir string, settings map[string]string) (*Server, error) {
	all := map[string]string{
		"fsync":              "off",
		"full_page_writes":   "off",
		"autovacuum":         "off",
		"checkpoint_timeout": "1h",
		"max_connections":    "400",
		"shared_buffers":     "32MB",
		"wal_level":          "replica",
		"max_wal_senders":    "4", // tests have standbys, and commits that wait for one
	}
	maps.Copy(all, settings)
	s, err := localpg.Start(ctx, localpg.Options{Dir: dir, Settings: all})
	return &Server{s, dir, func() {}}, err
}

// Stop ends the server in order.
func (s *Server) Stop(ctx context.Context) error {
	defer s.remove()
	return s.Server.Stop(ctx)
}

// DataDir is the path of the server's data, whose files belong to the user that runs the server.
func (s *Server) DataDir() string { return filepath.Join(s.dir, "postgres", "data") }

// LogFile is the file of the server's log.
func (s *Server) LogFile() string { return filepath.Join(s.dir, "postgres.log") }

// TempDir makes a directory that every user may enter. If this process is killed before it calls
// remove, the next TempDir removes the directory. With inMemory it is in a file system in memory if
// there is one with much room: a test's database has hundreds of files for a second, and on a disk
// making and removing them takes longer than the test.
func TempDir(inMemory bool) (dir string, remove func(), err error) {
	parent := os.TempDir()
	if os.Geteuid() == 0 {
		parent = "/tmp" // the server has another user, who may not be able to enter root's
	}
	const memory, room = "/dev/shm", 4 << 30 // the tests that run at the same time take less than half of it
	var fs syscall.Statfs_t
	if inMemory && syscall.Statfs(memory, &fs) == nil && fs.Bavail*uint64(fs.Bsize) > room && availableMemory() > room {
		parent = memory
	}
	removeStale(parent)
	if dir, err = os.MkdirTemp(parent, fmt.Sprintf(prefix+"%d-", os.Getpid())); err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, os.Chmod(dir, 0o755)
}

// availableMemory is what programs can still get, in bytes; 0 if the kernel does not say.
func availableMemory() (bytes uint64) {
	text, _ := os.ReadFile("/proc/meminfo")
	_, line, _ := strings.Cut(string(text), "\nMemAvailable:")
	_, _ = fmt.Sscanf(line, "%d kB", &bytes)
	return bytes << 10
}

// prefix of a directory's name; the id of the process that made it follows.
const prefix = "petstore-postgres-"

// removeStale removes the directories of processes that are gone.
func removeStale(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, prefix+"*")) // the pattern is well formed
	for _, dir := range dirs {
		var pid int
		_, err := fmt.Sscanf(filepath.Base(dir), prefix+"%d-", &pid)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir) // the next call removes what is still being written there
		}
	}
}
