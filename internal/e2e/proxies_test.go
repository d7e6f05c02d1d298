package e2e_test

import (
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// relay carries what a client and a server send, until one of them ends. Each side's pieces are
// shown before they are passed on, which may take its time, or refuse it; nil shows none.
func relay(client, server net.Conn, toServer, toClient func(piece []byte) (pass bool)) {
	carry := func(to, from net.Conn, shown func([]byte) bool) {
		defer to.Close()
		defer from.Close()
		piece := make([]byte, 64<<10)
		for {
			n, err := from.Read(piece)
			if n > 0 && (shown == nil || shown(piece[:n])) {
				_, failed := to.Write(piece[:n])
				err = errors.Join(err, failed)
			}
			if err != nil {
				return
			}
		}
	}
	var both sync.WaitGroup
	both.Go(func() { carry(server, client, toServer) })
	both.Go(func() { carry(client, server, toClient) })
	both.Wait()
}

func passOn(client, server net.Conn) { relay(client, server, nil, nil) }

// roundTrips counts how often something is sent after the last reply. Requests that are sent
// together are one.
type roundTrips struct{ atomic.Int64 }

func (r *roundTrips) relay(client, server net.Conn) {
	var sent atomic.Bool
	relay(client, server, func([]byte) bool {
		if sent.CompareAndSwap(false, true) {
			r.Add(1)
		}
		return true
	}, func([]byte) bool {
		sent.Store(false)
		return true
	})
}

// gate lets bytes through, except while it is held.
type gate struct{ sync.RWMutex }

func (g *gate) relay(client, server net.Conn) { go relay(client, server, g.pass, g.pass) }

func (g *gate) pass([]byte) bool {
	g.RLock()
	g.RUnlock() //nolint:staticcheck // It waits until the gate is open.
	return true
}

// way is what one server's connections to Postgres or Redis go through. It can be cut, held up, and
// slowed down.
type way struct {
	gate
	delay atomic.Int64 // of each piece

	mu    sync.Mutex
	conns []net.Conn
}

func (w *way) relay(client, server net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, client, server)
	slowly := func(piece []byte) bool {
		w.pass(piece)
		time.Sleep(time.Duration(w.delay.Load())) // the way is that slow
		return true
	}
	go relay(client, server, slowly, slowly)
}

// cut closes the connections that there are.
func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// switchProxy is an address of a database that can be moved to another one.
type switchProxy struct {
	way
	addr   string
	socket atomic.Pointer[string]
	dialed atomic.Int64 // connections
}

func newSwitch(t *testing.T, databaseURL string) *switchProxy {
	t.Helper()
	p := &switchProxy{}
	p.to(t, databaseURL)
	p.addr = storetest.ProxyTo(t, func() (net.Conn, error) {
		p.dialed.Add(1)
		return net.Dial("unix", *p.socket.Load())
	}, p.relay)
	return p
}

// to moves the address: its connections are closed, and new ones reach the other database.
func (p *switchProxy) to(t *testing.T, databaseURL string) {
	t.Helper()
	p.lead(t, databaseURL)
	p.cut()
}

// lead has new connections reach the other database.
func (p *switchProxy) lead(t *testing.T, databaseURL string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	assert.NoError(t, err)
	socket := filepath.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port"))
	p.socket.Store(&socket)
}

// url returns the URL through the switch.
func (p *switchProxy) url(t *testing.T, databaseURL string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	assert.NoError(t, err)
	u.Host, u.RawQuery = p.addr, "sslmode=disable"
	return u.String()
}
