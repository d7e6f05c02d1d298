// Package pgtest starts PostgreSQL servers for tests and benchmarks, and removes their data
// afterwards.
//
// The data survives a kill of the server, but not a crash of the machine. If this process is
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
		"max_wal_senders":    "4", // for tests with standbys
	}
	maps.Copy(all, settings)
	s, err := localpg.Start(ctx, localpg.Options{Dir: dir, Settings: all})
	return &Server{s, dir, func() {}}, err
}

// Stop ends the server in an orderly way.
func (s *Server) Stop(ctx context.Context) error {
	defer s.remove()
	return s.Server.Stop(ctx)
}

// DataDir is the path of the server's data. Its files belong to the user that runs the server.
func (s *Server) DataDir() string { return filepath.Join(s.dir, "postgres", "data") }

// LogFile is the file of the server's log.
func (s *Server) LogFile() string { return filepath.Join(s.dir, "postgres.log") }

// TempDir makes a directory that every user may enter. If this process is killed before it calls
// remove, the next TempDir removes the directory. With inMemory the directory is in a file system
// in memory, if there is one with enough room: a test's database makes hundreds of files for a
// second, which on a disk takes longer than the test.
func TempDir(inMemory bool) (dir string, remove func(), err error) {
	parent := os.TempDir()
	if os.Geteuid() == 0 {
		parent = "/tmp" // the server runs as another user, who may not be able to enter root's directory
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

// availableMemory is the memory that programs can still get, in bytes; 0 if the kernel does not
// report it.
func availableMemory() (bytes uint64) {
	text, _ := os.ReadFile("/proc/meminfo")
	_, line, _ := strings.Cut(string(text), "\nMemAvailable:")
	_, _ = fmt.Sscanf(line, "%d kB", &bytes)
	return bytes << 10
}

// prefix begins a directory's name. After it comes the ID of the process that made the directory.
const prefix = "petstore-postgres-"

// removeStale removes the directories of processes that are gone.
func removeStale(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, prefix+"*")) // the pattern is well formed
	for _, dir := range dirs {
		var pid int
		_, err := fmt.Sscanf(filepath.Base(dir), prefix+"%d-", &pid)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir) // if a file is still written there, the next call removes it
		}
	}
}
