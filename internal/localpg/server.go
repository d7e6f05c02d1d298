//go:build unix

package localpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"petstore.example/internal/subprocess"
	"petstore.example/internal/syspkg"
)

// Options say which server to start.
type Options struct {
	// Dir is the folder of the data, the socket, the log and the lock; it is made when it is not there. Empty, which takes
	// Throwaway, means a folder of its own that Stop removes.
	Dir string

	// Throwaway trades the data's safety against a crash of the machine for speed.
	Throwaway bool

	// Install allows to install PostgreSQL when it is not on the machine.
	Install bool

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

const startLimit = 2 * time.Minute

// Start starts the server, after having created its data when there is none, and returns when it takes connections. The errors
// that a person can do something about are *InUseError, *VersionError, ErrNotInstalled and *syspkg.NotInstalledError.
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
	b, err := provide(ctx, o, p, dirs)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, o, b, p); err != nil {
		return nil, err
	}
	s := &Server{place: p, version: b.version, logFile: filepath.Join(dir, "postgres.log"), release: release}
	return s, s.launch(ctx, b, settings(o.Throwaway))
}

func (o Options) say(format string, args ...any) { _, _ = fmt.Fprintf(o.Log, format+"\n", args...) }

// takeDir makes and locks the folder. release unlocks it, and removes it when it was made for this server.
func takeDir(o Options) (dir string, release func(), err error) {
	remove := func() {}
	dir = o.Dir
	if dir == "" {
		if !o.Throwaway {
			return "", nil, errors.New("no folder is named for data that should last")
		}
		if dir, remove, err = TempDir(); err != nil {
			return "", nil, err
		}
		dir = filepath.Join(dir, "server")
	}
	if dir, err = makeDir(dir); err != nil {
		remove()
		return "", nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		remove()
		return "", nil, err
	}
	return dir, func() { _ = lock.Close(); remove() }, nil
}

// makeDir returns the folder's true name, which its other names must not hide from lock and fallback.
func makeDir(dir string) (string, error) {
	if _, err := os.Stat(dir); err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask: the server's user has to pass
			return "", err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// provide finds the programs that fit the data, and installs them when there are none at all.
func provide(ctx context.Context, o Options, p place, dirs finder) (binaries, error) {
	want, err := dataVersion(p.data())
	if err != nil {
		return binaries{}, err
	}
	b, err := findBinaries(ctx, dirs(ctx), want)
	if errors.Is(err, ErrNotInstalled) && o.Install {
		pkg := syspkg.Package{Name: "PostgreSQL", Apt: "postgresql", Brew: "postgresql@17"}
		err = syspkg.Ensure(ctx, o.Log, pkg, func() bool {
			b, err = findBinaries(ctx, dirs(ctx), want)
			return err == nil
		})
	}
	if err != nil {
		return binaries{}, err
	}
	if want != "" && b.version != want {
		return binaries{}, &VersionError{Dir: p.home, Data: want, Installed: b.version}
	}
	return b, nil
}

func prepare(ctx context.Context, o Options, b binaries, p place) error {
	if hasCluster(p.home) {
		return clearOut(ctx, p)
	}
	if !o.Throwaway {
		o.say("creating a database with PostgreSQL %s in %s", b.version, p.home)
	}
	return create(ctx, b, p)
}

// settings are given on the command line, so that what a release changes in them holds for data made before it.
func settings(throwaway bool) map[string]string {
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
	if throwaway {
		// Commits still reach the system before they are answered, so they outlive the server's being killed, if not the machine's.
		for _, name := range []string{"fsync", "full_page_writes", "autovacuum"} {
			set[name] = "off"
		}
		set["checkpoint_timeout"] = "1h"
		set["max_connections"] = "400"
		set["shared_buffers"] = "32MB"
	}
	return set
}

// launch starts the server's process and waits until it takes connections.
func (s *Server) launch(ctx context.Context, b binaries, set map[string]string) error {
	args := []string{"-D", s.place.data(), "-k", s.place.sockets}
	for name, value := range set {
		args = append(args, "-c", name+"="+value)
	}
	log, size, err := openLog(s.logFile)
	if err != nil {
		return err
	}
	defer log.Close()
	s.logFrom = size
	cmd := exec.Command(b.path("postgres"), args...)
	cmd.Dir = s.place.home
	cmd.Stdout, cmd.Stderr = log, log
	s.place.account.apply(cmd)
	orphaned := syscall.SIGINT
	if set["fsync"] == "off" {
		orphaned = syscall.SIGQUIT
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
		return s.Err()
	}
	if err != nil {
		return fmt.Errorf("wait until it is ready: %w", err)
	}
	return nil
}

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

// Err waits for the server's end and returns what it had to say about it.
func (s *Server) Err() error {
	err := s.process.Err()
	said := usefulLines(logSince(s.logFile, s.logFrom))
	if err == nil {
		return fmt.Errorf("the server ended: %s", said)
	}
	return fmt.Errorf("the server ended: %w: %s (log: %s)", err, said, s.logFile)
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
