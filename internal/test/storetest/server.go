package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/store/migrate"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/pgtest"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// PrivateServer is a PostgreSQL server with one migrated database, for one test to disturb. Its
// addresses stay the same after every Stop and Start. A method that cannot do its work fails the
// test that made the server, so call the methods from that test's goroutine.
type PrivateServer struct {
	Database
	t   testing.TB
	dir string
	// settings are further settings of PostgreSQL.
	settings map[string]string
	server   *pgtest.Server // nil when stopped
}

// NewServer starts a server that ends with the test.
func NewServer(t testing.TB) *PrivateServer {
	t.Helper()
	return newServer(t, nil)
}

func newServer(t testing.TB, settings map[string]string) *PrivateServer {
	t.Helper()
	p := prepared(t)
	p.settings = settings
	dir, err := snapshot()
	assert.NoError(t, err, "test server")
	if out, err := sandbox.Command(t, "cp", "-a", dir, p.dir).CombinedOutput(); err != nil {
		t.Fatalf("test server: %v: %s", err, out)
	}
	p.Start()
	p.Database = *database(p.server.URL, "postgres")
	return p
}

var removeSnapshot = func() {}

// snapshot returns the directory, with a migrated database, from which all PrivateServers start.
// The first one of the binary makes it.
var snapshot = sync.OnceValues(func() (string, error) {
	parent, remove, err := pgtest.TempDir(true)
	if err != nil {
		return "", err
	}
	removeSnapshot = remove
	ctx, dir := context.Background(), filepath.Join(parent, "server")
	server, err := pgtest.StartIn(ctx, dir, nil)
	if err != nil {
		return "", err
	}
	url := server.URL("postgres", "postgres")
	return dir, errors.Join(migrate.Up(ctx, url, nil), run(ctx, url, helpers+makeLogins), server.Stop(ctx))
})

func prepared(t testing.TB) *PrivateServer {
	t.Helper()
	dir, remove, err := pgtest.TempDir(true)
	assert.NoError(t, err, "test server")
	t.Cleanup(remove)
	p := &PrivateServer{t: t, dir: filepath.Join(dir, "server")}
	t.Cleanup(p.Stop)
	return p
}

func (p *PrivateServer) exec(ctx context.Context, query string) error { return run(ctx, p.URL, query) }

// Start starts the server again after Stop or Kill, with the data that it had.
func (p *PrivateServer) Start() {
	p.t.Helper()
	if p.server != nil {
		return
	}
	server, err := pgtest.StartIn(context.Background(), p.dir, p.settings)
	assert.NoError(p.t, err, "test server")
	p.server = server
}

// Stop ends the server in an orderly way: its connections are closed. It does nothing if the server
// is not running.
func (p *PrivateServer) Stop() {
	p.t.Helper()
	if p.server == nil {
		return
	}
	p.Resume()
	if err := p.server.Stop(context.Background()); err != nil {
		p.t.Errorf("test server: %v", err)
	}
	p.server = nil
}

// Kill ends all the server's processes at once, as kill -9 or a power cut would. Committed data is
// still there after Start.
func (p *PrivateServer) Kill() {
	p.t.Helper()
	p.Pause() // without the postmaster its children are harder to find
	p.signal(syscall.SIGKILL)
	p.Stop()
}

// Pause halts the server with its connections open: it does not answer until Resume.
func (p *PrivateServer) Pause() {
	p.t.Helper()
	// The postmaster is stopped first, so that it starts no further processes. It may still start
	// one until it has stopped.
	postmaster := p.server.PID()
	assert.NoError(p.t, syscall.Kill(postmaster, syscall.SIGSTOP), "test server")
	wait.Until(p.t, "the postmaster is stopped", func() bool {
		_, _, state := processOf(fmt.Sprintf("/proc/%d/stat", postmaster))
		return state == 'T'
	})
	p.signal(syscall.SIGSTOP)
}

// Resume continues a paused server.
func (p *PrivateServer) Resume() { p.signal(syscall.SIGCONT) }

// Slow lets the server work for only that much of each 100 ms, until end is called.
func (p *PrivateServer) Slow(works time.Duration) (end func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(works):
			}
			stops := time.Now()
			// The postmaster is first, as in Pause. If this waited for it, the others would go on
			// working.
			_ = syscall.Kill(p.server.PID(), syscall.SIGSTOP)
			p.signal(syscall.SIGSTOP)
			time.Sleep(100*time.Millisecond - works - time.Since(stops)/2) // It still works while being stopped.
			p.Resume()
		}
	}()
	return sync.OnceFunc(func() { close(stop); <-stopped })
}

// signal signals the postmaster's children, and then the postmaster.
func (p *PrivateServer) signal(sig syscall.Signal) {
	p.t.Helper()
	postmaster := p.server.PID()
	processes, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range processes {
		if pid, parent, _ := processOf(file); parent == postmaster {
			_ = syscall.Kill(pid, sig) // an error means that the process has just ended
		}
	}
	_ = syscall.Kill(postmaster, sig)
}

// processOf returns the content of a file of /proc, zeros if the process has ended.
func processOf(file string) (pid, parent int, state rune) {
	stat, _ := os.ReadFile(file)
	// The state and the parent follow the command's name, which ends with the last parenthesis.
	_, _ = fmt.Sscan(string(stat), &pid)
	_, _ = fmt.Sscanf(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " %c %d", &state, &parent)
	return pid, parent, state
}
