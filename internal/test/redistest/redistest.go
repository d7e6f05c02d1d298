package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/subprocess"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/freeport"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// Server is a Redis server for one test. Its port, on the loopback address, stays the same after
// every Stop and Start. A method that cannot do its work fails the test that made the server, so
// call the methods from that test's goroutine.
type Server struct {
	URL  string // redis://127.0.0.1:port/0
	Addr string // 127.0.0.1:port

	t       testing.TB
	args    []string // added to every server's arguments
	mu      sync.Mutex
	process *subprocess.Process // nil when stopped
	paused  bool
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	return newServer(t)
}

func newServer(t testing.TB, args ...string) *Server {
	t.Helper()
	addr := freeport.Address(t)
	s := &Server{URL: "redis://" + addr + "/0", Addr: addr, t: t, args: args}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// Start starts the server again after Stop, empty.
func (s *Server) Start() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return
	}
	s.process = launch(s.t, s.Addr, s.args...)
}

// Stop ends the server at once and closes its connections. Its data is lost. Stop does nothing if
// the server is not running.
func (s *Server) Stop() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	if err := s.process.Stop(context.Background(), hangTimeout, syscall.SIGKILL); err != nil {
		s.t.Errorf("test redis: %v", err)
	}
	s.process, s.paused = nil, false
}

// Pause halts the server with its connections open: it does not answer until Resume.
func (s *Server) Pause() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	s.paused = true
}

// Resume continues a paused server.
func (s *Server) Resume() {
	s.t.Helper()
	s.signal(syscall.SIGCONT)
	s.paused = false
}

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		s.t.Fatal("test redis: it is not running")
	}
	assert.NoError(s.t, s.process.Signal(sig), "test redis")
}

// Flush empties the server, including scripts.
func (s *Server) Flush() {
	s.t.Helper()
	client := clientOf(s.Addr, 0)
	defer client.Close()
	err := errors.Join(client.FlushAll(s.t.Context()).Err(), client.ScriptFlush(s.t.Context()).Err())
	assert.NoError(s.t, err, "test redis")
}

func clientOf(addr string, db int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:            addr,
		DB:              db,
		PoolSize:        1,
		DisableIdentity: true,
		MaxRetries:      -1,
		DialerRetries:   1,
		DialTimeout:     hangTimeout,
		ReadTimeout:     hangTimeout,
	})
}

// hangTimeout bounds a call to a server, and its stop.
const hangTimeout = time.Minute

// launch starts a server and waits until it answers. If another server has the port, ours ends, and
// the test fails.
func launch(t testing.TB, addr string, args ...string) *subprocess.Process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "redis.log"))
	assert.NoError(t, err)
	defer log.Close()
	process, err := start(addr, log, args...)
	assert.NoError(t, err)
	said := func() string {
		text, _ := os.ReadFile(log.Name())
		return string(text)
	}
	wait.Until(t, "redis-server to answer", func() bool {
		select {
		case <-process.Done():
			t.Fatalf("redis-server ended: %v: %s", process.Err(), said())
		default:
		}
		return isServer(t.Context(), addr, process.PID())
	}, said)
	return process
}

// start starts a server, which may not answer yet.
func start(addr string, log *os.File, args ...string) (*subprocess.Process, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("%w: install it with tools/install.sh redis-server, as make test does", err)
	}
	host, port, _ := net.SplitHostPort(addr)
	cmd := sandbox.CommandIn(os.TempDir(), path, commandLine(host, port, args)...)
	cmd.Stdout, cmd.Stderr = log, log
	return subprocess.Start(cmd, syscall.SIGKILL)
}

// commandLine is the command line of a server with these arguments. If they begin with a sentinel's
// file, it is that of the sentinel.
func commandLine(host, port string, args []string) []string {
	at := []string{"--bind", host, "--port", port, "--daemonize", "no"}
	if len(args) > 0 && filepath.IsAbs(args[0]) {
		return append(args[:len(args):len(args)], at...)
	}
	at = append(at, "--save", "", "--appendonly", "no", "--dir", os.TempDir())
	return append(at, args...)
}

// isServer asks the server for the ID of its process, once something listens: before that, the
// client would log, and keep trying in the background.
func isServer(ctx context.Context, addr string, pid int) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	_ = conn.Close()
	client := clientOf(addr, 0)
	defer client.Close()
	return client.InfoMap(ctx, "server").Val()["Server"]["process_id"] == strconv.Itoa(pid)
}
