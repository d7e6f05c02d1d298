//go:build unix

package localpg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"petstore.example/internal/subprocess"
)

// Options configure a server.
type Options struct {
	// Dir is the directory for the data, the socket, the log and the lock. It is made if it does
	// not exist.
	Dir string
	// Settings are further settings of PostgreSQL; they win over ours.
	Settings map[string]string
	// Log gets messages for a person, one line each. It may be nil.
	Log io.Writer
}

// settings are given on the command line, so that a change in a release applies to existing data.
var settings = strings.Fields(`
	listen_addresses= port=5432 unix_socket_permissions=0700 max_connections=200
	wal_level=minimal max_wal_senders=0 jit=off
	cluster_name=petstore logging_collector=off log_destination=stderr log_checkpoints=off`)

// Server is a running PostgreSQL.
type Server struct {
	dir     *dataDir
	process *subprocess.Process
	logFrom int64
	port    string
}

// Start starts the server, creates the data if there is none, and returns when the server accepts
// connections. The error is ErrNotInstalled if there is no PostgreSQL. ctx bounds only the start.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start PostgreSQL: %w", err)
		}
	}()
	o.Log = cmp.Or(o.Log, io.Discard)
	d, err := openDir(o.Dir, o.Log)
	if err != nil {
		return nil, err
	}
	b, err := d.prepare(ctx, o.Log)
	s := &Server{dir: d, port: cmp.Or(o.Settings["port"], "5432")}
	if err == nil {
		err = s.launch(ctx, b.path("postgres"), o.Settings)
	}
	if err != nil {
		d.unlock()
		return nil, err
	}
	return s, nil
}

// launch starts the server and waits until it accepts connections.
func (s *Server) launch(ctx context.Context, program string, further map[string]string) error {
	log, err := s.dir.open(logName, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := errors.Join(s.dir.user.chown(log.Name()), s.dir.endOrphans(ctx, log)); err != nil {
		return err
	}
	if s.logFrom, err = log.Seek(0, io.SeekEnd); s.logFrom > maxLogSize {
		s.logFrom, err = 0, log.Truncate(0)
	}
	if err != nil {
		return err
	}
	args := []string{"-D", s.dir.pgdata(), "-k", s.dir.socketDir}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	for name, value := range further {
		args = append(args, "-c", name+"="+value)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = s.dir.path
	cmd.Stdout, cmd.Stderr = log, log
	s.dir.user.run(cmd)
	// SIGQUIT ends the server at once, including its processes that do not answer. The next start
	// recovers the data.
	if s.process, err = subprocess.Start(cmd, syscall.SIGQUIT); err != nil {
		return err
	}
	if err := s.waitReady(ctx); err != nil {
		return errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return nil
}

func (s *Server) waitReady(ctx context.Context) error {
	ended := false
	err := waitFor(ctx, 2*time.Minute, func() bool {
		select {
		case <-s.process.Done():
			ended = true
		default:
		}
		pid, status := s.dir.readPIDFile()
		return ended || pid == s.process.PID() && status == "ready"
	})
	if ended {
		return cmp.Or(s.Err(), errors.New("the server ended at once"))
	}
	if err != nil {
		return fmt.Errorf("wait until the server is ready: %w", err)
	}
	return nil
}

// URL returns the address of a database for lib/pq, over the server's socket. The superuser is
// postgres; no user needs a password.
func (s *Server) URL(user, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(user), Path: "/" + database}
	u.RawQuery = url.Values{"host": {s.dir.socketDir}, "port": {s.port}, "sslmode": {"disable"}}.Encode()
	return u.String()
}

// PID is the postmaster's process id.
func (s *Server) PID() int { return s.process.PID() }

// Done is closed when the server has ended, by Stop or otherwise.
func (s *Server) Done() <-chan struct{} { return s.process.Done() }

// Err waits for the server's end. It returns nil after an orderly end, by Stop or by another
// process's request. Otherwise the error has the last lines of the server's log.
func (s *Server) Err() error {
	err := s.process.Err()
	if err == nil {
		return nil
	}
	file := filepath.Join(s.dir.dir, logName)
	log, _ := os.ReadFile(file) // without the log the error has no details
	return fmt.Errorf(
		"the server ended: %w: %s (log: %s)",
		err,
		usefulLines(string(log[min(s.logFrom, int64(len(log))):])),
		file,
	)
}

// Stop ends the server and returns when it is gone. It aborts running transactions and writes
// everything to disk. Once ctx is done the server is ended faster: the next start then takes
// longer, and no data is lost.
func (s *Server) Stop(ctx context.Context) error {
	err := s.process.Stop(ctx, 10*time.Second, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL)
	if s.dir.socketDir != s.dir.path {
		_ = os.Remove(s.dir.socketDir) // fails, as it should, if the directory is not empty
		_ = os.Remove(filepath.Dir(s.dir.socketDir))
	}
	if err == nil {
		s.dir.unlock()
	}
	return err
}

// prepare finds the programs that fit the data, and creates the data if there is none.
func (d *dataDir) prepare(ctx context.Context, log io.Writer) (binaries, error) {
	text, err := os.ReadFile(filepath.Join(d.pgdata(), "PG_VERSION"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return binaries{}, err
	}
	version := strings.TrimSpace(string(text))
	b, err := findBinaries(ctx, searchDirs(ctx), version)
	switch {
	case err != nil || version == b.version:
		return b, err
	case version != "":
		return b, fmt.Errorf(
			"%s holds data of PostgreSQL %s, but PostgreSQL %s is installed: install version %s, or move the "+
				"directory away to start with an empty database",
			d.path,
			version,
			b.version,
			version,
		)
	}
	_, _ = fmt.Fprintf(log, "creating a database with PostgreSQL %s in %s\n", b.version, d.path)
	return b, d.initDB(ctx, b.path("initdb"))
}

// initDB creates an empty cluster whose superuser is postgres. It renames the directory to pgdata
// at the end, so that an interrupted attempt leaves nothing that looks like a cluster.
func (d *dataDir) initDB(ctx context.Context, initdb string) error {
	leftovers, _ := filepath.Glob(filepath.Join(d.path, "data.new-*")) // the pattern is well formed
	for _, dir := range leftovers {
		_ = os.RemoveAll(dir) // a leftover does no harm
	}
	unfinished, err := os.MkdirTemp(d.path, "data.new-")
	if err == nil {
		err = d.user.chown(unfinished)
	}
	if err != nil {
		return err
	}
	// Trust needs no password. The permissions of the socket's directory decide who can connect.
	cmd := exec.CommandContext(
		ctx,
		initdb,
		"-D",
		unfinished,
		"-U",
		"postgres",
		"-A",
		"trust",
		"-E",
		"UTF8",
		"--locale=C",
		"--no-sync",
	)
	cmd.Dir, cmd.Cancel, cmd.WaitDelay = d.path, func() error { return cmd.Process.Signal(syscall.SIGTERM) },
		10*time.Second
	d.user.run(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return cmp.Or(ctx.Err(), fmt.Errorf("initdb: %w: %s", err, usefulLines(string(out))))
	}
	return os.Rename(unfinished, d.pgdata())
}

// readPIDFile returns the process id and the status (starting, ready, stopping; empty at first)
// from the server's own lock file; 0 if there is none.
func (d *dataDir) readPIDFile() (pid int, status string) {
	text, _ := os.ReadFile(filepath.Join(d.pgdata(), "postmaster.pid"))
	// https://github.com/postgres/postgres/blob/master/src/include/utils/pidfile.h
	lines := append(strings.Split(string(text), "\n"), make([]string, 8)...)
	pid, _ = strconv.Atoi(strings.TrimSpace(lines[0]))
	return max(pid, 0), strings.TrimSpace(lines[7])
}

// endOrphans ends all processes that an earlier server left, and then locks the log. It removes
// that server's lock files if their process id now belongs to another process, which PostgreSQL
// would take for a running server.
func (d *dataDir) endOrphans(ctx context.Context, log *os.File) error {
	pid, _ := d.readPIDFile()
	works, noProc := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)) // Another process may have the number by now.
	data, _ := filepath.EvalSymlinks(d.pgdata())
	err := flock(log)
	for _, signal := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGKILL} {
		if err != nil {
			if pid > 0 && (noProc != nil || works == data) {
				_ = syscall.Kill(pid, signal) // on an error only its children are left, which end by themselves
			}
			err = waitFor(ctx, 15*time.Second, func() bool { return flock(log) == nil })
		}
	}
	if err != nil {
		return fmt.Errorf("the previous server (pid %d) is still running: %w", pid, err)
	}
	if pid == 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return nil // PostgreSQL handles the file of a process that is gone
	}
	return errors.Join(
		os.RemoveAll(filepath.Join(d.pgdata(), "postmaster.pid")),
		os.RemoveAll(filepath.Join(d.socketDir, socketName+".lock")),
	)
}

// waitFor polls the condition until it holds, ctx ends or the timeout has passed.
func waitFor(ctx context.Context, timeout time.Duration, condition func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %v", timeout))
	defer cancel()
	for !condition() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

var (
	fatal     = regexp.MustCompile(`\b(PANIC|FATAL|error|fatal):`)
	timestamp = regexp.MustCompile(`^[-0-9]+ [.:0-9]+ \S+ \[[0-9]+\] `)
)

// usefulLines joins the part of a log that says what went wrong into one line. That is the last
// fatal line, the line before it (often the details) and those after it (the hint). Without a fatal
// line it is the last lines.
func usefulLines(log string) string {
	const most = 4
	lines := strings.Split(strings.TrimSpace(log), "\n")
	from := max(0, len(lines)-most)
	for i, line := range lines {
		if fatal.MatchString(line) {
			from = max(0, i-1)
		}
	}
	lines = lines[from:min(len(lines), from+most)]
	for i, line := range lines {
		lines[i] = strings.TrimSpace(timestamp.ReplaceAllString(line, ""))
	}
	return strings.Join(lines, "; ")
}
