package storetest

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"petstore.example/internal/localpg"
	"petstore.example/internal/store/migrate"
)

// PrivateServer is a PostgreSQL of one test's own with one migrated database, for the test to disturb. Its addresses stay the
// same over every Stop and Start. Its methods fail the test that made it when they cannot do their work, so they must be
// called from that test's goroutine.
type PrivateServer struct {
	Database
	t   testing.TB
	dir string
	// settings are further settings of PostgreSQL.
	settings map[string]string
	mu       sync.Mutex
	server   *localpg.Server // nil when stopped
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
	p.Start()
	p.Database = *database(p.server, "postgres")
	if err := errors.Join(migrate.Up(t.Context(), p.URL), p.exec(t.Context(), helpers+makeLogins)); err != nil {
		t.Fatalf("test server: %v", err)
	}
	return p
}

func prepared(t testing.TB) *PrivateServer {
	t.Helper()
	dir, remove, err := localpg.TempDir(true)
	if err != nil {
		t.Fatalf("test server: %v", err)
	}
	t.Cleanup(remove)
	p := &PrivateServer{t: t, dir: filepath.Join(dir, "server")}
	t.Cleanup(p.Stop)
	return p
}

func (p *PrivateServer) exec(ctx context.Context, query string) error {
	db, err := sql.Open("postgres", p.URL)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, query)
	return errors.Join(err, db.Close())
}

// Start starts the server again after Stop or Kill, with the data that it had.
func (p *PrivateServer) Start() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		return
	}
	server, err := localpg.Start(context.Background(), localpg.Options{Dir: p.dir, Throwaway: true, Settings: p.settings})
	if err != nil {
		p.t.Fatalf("test server: %v", err)
	}
	p.server = server
}

// Stop ends the server in order: its connections are closed. It does nothing when the server is not running.
func (p *PrivateServer) Stop() {
	p.t.Helper()
	p.end(func(s *localpg.Server) error {
		if err := s.Resume(); err != nil {
			return err
		}
		return s.Stop(context.Background())
	})
}

// Kill ends the server at once. What was committed is there again after Start.
func (p *PrivateServer) Kill() {
	p.t.Helper()
	p.end((*localpg.Server).Kill)
}

func (p *PrivateServer) end(how func(*localpg.Server) error) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return
	}
	if err := how(p.server); err != nil {
		p.t.Errorf("test server: %v", err)
	}
	p.server = nil
}

// Pause halts the server with its connections open: nothing answers until Resume.
func (p *PrivateServer) Pause() {
	p.t.Helper()
	p.control((*localpg.Server).Pause)
}

// Resume continues a paused server.
func (p *PrivateServer) Resume() {
	p.t.Helper()
	p.control((*localpg.Server).Resume)
}

func (p *PrivateServer) control(how func(*localpg.Server) error) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		p.t.Fatal("test server: it is not running")
	}
	if err := how(p.server); err != nil {
		p.t.Fatalf("test server: %v", err)
	}
}
