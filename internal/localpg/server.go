//go:build unix

package localpg

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"petstore.example/internal/subprocess"
)

// Options configure a server.
type Options struct {
	// Dir is the directory for the data, the socket, the log and the lock; it is made when it does not exist. Empty, which requires
	// Throwaway, means a temporary directory that Stop removes.
	Dir string

	// Throwaway gives up the data's safety against a crash of the machine for speed.
	Throwaway bool
	// InMemory puts the temporary directory into memory if there is much room. A test's database has hundreds of files for a second, and
	// on a disk making and removing them takes longer than the test.
	InMemory bool

	// SharedBuffers is PostgreSQL's shared_buffers in MB; 0 means PostgreSQL's default, or 32 for a throwaway server.
	SharedBuffers int64
	// MaxConnections is PostgreSQL's max_connections; 0 means 200, or 400 for a throwaway server.
	MaxConnections int
	// Settings are further settings of PostgreSQL; they win over ours.
	Settings map[string]string

	// Log gets messages for a person, one line each. It may be nil.
	Log io.Writer
}

// Server is a running PostgreSQL.
type Server struct {
	dir     dataDir
	process *subprocess.Process
	version string
	logFile string
	logFrom int64
	port    string
	release func() // of the directory

	stop    sync.Once
	stopErr error
}

// Start starts the server, after creating the data when there is none, and returns when the server accepts connections. The error
// is ErrNotInstalled when there is no PostgreSQL. ctx bounds only the start.
func Start(ctx context.Context, o Options) (*Server, error) {
	s, err := start(ctx, o, searchDirs(ctx))
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, o Options, dirs []string) (_ *Server, err error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	dir, release, err := openDir(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	d, err := resolveDataDir(dir, o.logf)
	if err != nil {
		return nil, err
	}
	b, err := prepare(ctx, o, d, dirs)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: d, version: b.version, logFile: filepath.Join(dir, logName), port: settings(o)["port"], release: release}
	return s, s.launch(ctx, b, o)
}

func (o Options) logf(format string, args ...any) { _, _ = fmt.Fprintf(o.Log, format+"\n", args...) }

// URL returns the address of a database for lib/pq, over the server's socket. The superuser is postgres; no user needs a password.
func (s *Server) URL(user, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(user), Path: "/" + database}
	u.RawQuery = url.Values{"host": {s.dir.socketDir}, "port": {s.port}, "sslmode": {"disable"}}.Encode()
	return u.String()
}

// PID is the postmaster's process id.
func (s *Server) PID() int { return s.process.PID() }

// LogFile is the file of the server's log.
func (s *Server) LogFile() string { return s.logFile }

// DataDir is the path of the server's data, whose files belong to the user that runs the server.
func (s *Server) DataDir() string { return s.dir.pgdata() }

// Done is closed when the server has ended, by Stop or otherwise.
func (s *Server) Done() <-chan struct{} { return s.process.Done() }

// Err waits for the server's end. It returns nil after an orderly end, by Stop or by another's request; otherwise an error with
// the last lines of the server's log.
func (s *Server) Err() error {
	err := s.process.Err()
	if err == nil {
		return nil
	}
	return fmt.Errorf("the server ended: %w: %s (log: %s)", err, usefulLines(logSince(s.logFile, s.logFrom)), s.logFile)
}

// Stop ends the server and returns when it is gone: it aborts the transactions that are running and writes everything to disk.
// Once ctx is done the server is ended faster: the next start then takes longer, and no data is lost.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		if s.stopErr = s.end(ctx); s.stopErr == nil {
			s.release()
		}
	})
	return s.stopErr
}

func (s *Server) end(ctx context.Context) error {
	err := s.process.Stop(ctx, 10*time.Second, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL)
	if s.dir.socketDir != s.dir.path {
		_ = os.Remove(s.dir.socketDir) // fails, as it should, when it is not empty
	}
	return err
}
