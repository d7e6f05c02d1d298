//go:build unix

package localpg

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"petstore.example/internal/subprocess"
)

// Options say which server to start.
type Options struct {
	// Dir is the folder of the data, the socket, the log and the lock; it is made when it is not there. Empty, which takes
	// Throwaway, means a folder of its own that Stop removes.
	Dir string

	// Throwaway trades the data's safety against a crash of the machine for speed.
	Throwaway bool

	// SharedBuffers is how many MB of pages PostgreSQL keeps itself (shared_buffers); 0 is its own default, or 32 for a throwaway.
	SharedBuffers int64

	// Log gets what a person should know, one line each. It may be nil.
	Log io.Writer
}

// Server is a running PostgreSQL.
type Server struct {
	place   place
	process *subprocess.Process
	version string
	logFile string
	logFrom int64
	release func() // gives the folder back

	stop    sync.Once
	stopErr error
}

// Start starts the server, after having created its data when there is none, and returns when it takes connections. The errors
// that a person can do something about are *InUseError, *VersionError and ErrNotInstalled.
// ctx bounds the start alone.
func Start(ctx context.Context, o Options) (*Server, error) {
	s, err := start(ctx, o, candidates)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return s, nil
}

type finder func(context.Context) []string

func start(ctx context.Context, o Options, dirs finder) (_ *Server, err error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	dir, release, err := takeDir(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	p, err := settle(dir, o.say)
	if err != nil {
		return nil, err
	}
	b, err := provide(ctx, p, dirs)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, o, b, p); err != nil {
		return nil, err
	}
	s := &Server{place: p, version: b.version, logFile: filepath.Join(dir, "postgres.log"), release: release}
	return s, s.launch(ctx, b, o)
}

func (o Options) say(format string, args ...any) { _, _ = fmt.Fprintf(o.Log, format+"\n", args...) }

// URL is the address of a database for lib/pq, over the server's socket. The superuser is postgres; no user needs a password.
func (s *Server) URL(user, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(user), Path: "/" + database}
	u.RawQuery = url.Values{"host": {s.place.sockets}, "port": {"5432"}, "sslmode": {"disable"}}.Encode()
	return u.String()
}

// Version is PostgreSQL's major version, as "15".
func (s *Server) Version() string { return s.version }

// PID is the id of the server's first process.
func (s *Server) PID() int { return s.process.PID() }

// Done is closed when the server has ended, by Stop or otherwise.
func (s *Server) Done() <-chan struct{} { return s.process.Done() }

// Err waits for the server's end and returns nil when it was in order, by Stop or because somebody else asked it to; otherwise
// what the server had to say about it.
func (s *Server) Err() error {
	err := s.process.Err()
	if err == nil {
		return nil
	}
	return fmt.Errorf("the server ended: %w: %s (log: %s)", err, usefulLines(logSince(s.logFile, s.logFrom)), s.logFile)
}

// Stop ends the server: it breaks off what runs, writes everything down and returns when it is gone. Once ctx is done it is
// pressed to be quick, which costs the next start some work and no data.
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
	if s.place.sockets != s.place.home && strings.HasPrefix(s.place.sockets, "/tmp/") {
		_ = os.Remove(s.place.sockets) // left alone when it is not empty
	}
	return err
}
