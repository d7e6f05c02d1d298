package pgconn_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// address leads to one of several servers, and counts the connections to it.
type address struct {
	host   string
	socket atomic.Pointer[string]
	dialed atomic.Int64

	mu    sync.Mutex
	conns []net.Conn
}

func newAddress(t *testing.T, s *storetest.PrivateServer) *address {
	t.Helper()
	a := &address{}
	a.lead(t, s)
	a.host = storetest.ProxyTo(t, func() (net.Conn, error) {
		a.dialed.Add(1)
		return net.Dial("unix", *a.socket.Load())
	}, func(client, server net.Conn) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.conns = append(a.conns, client, server)
		go pipe(client, server)
		go pipe(server, client)
	})
	return a
}

func pipe(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	for piece := make([]byte, 4096); ; {
		n, err := from.Read(piece)
		if err == nil {
			_, err = to.Write(piece[:n])
		}
		if err != nil {
			return
		}
	}
}

// lead has the address lead to that server, and ends the connections that there are.
func (a *address) lead(t *testing.T, s *storetest.PrivateServer) {
	t.Helper()
	u, err := url.Parse(s.URL)
	assert.NoError(t, err)
	socket := filepath.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port"))
	a.socket.Store(&socket)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.conns {
		_ = c.Close()
	}
	a.conns = nil
}

func (a *address) url(login, more string) string {
	return "postgres://" + login + ":unused@" + a.host + "/postgres?sslmode=disable" + more
}

// TestLedAstray: the address of the URL leads to a standby for a while. Writes are made again
// without a restart, whatever the pool has read meanwhile, and also if it only reads.
func TestLedAstray(t *testing.T) {
	t.Parallel()
	primary := storetest.NewServer(t)
	standby := primary.Standby()
	for _, attrs := range []string{"", "&target_session_attrs=read-write", "&target_session_attrs=primary"} {
		for _, asAPI := range []bool{true, false} {
			t.Run(fmt.Sprint("api ", asAPI, attrs), func(t *testing.T) {
				t.Parallel()
				login := storetest.APILogin
				if !asAPI {
					login = storetest.OwnerLogin
				}
				tryAstray(t, primary, standby, login, attrs, asAPI)
			})
		}
	}
}

func tryAstray(t *testing.T, primary, standby *storetest.PrivateServer, login, attrs string, asAPI bool) {
	to := newAddress(t, primary)
	db, err := pgconn.Open(t.Context(), to.url(login, attrs), pgconn.Options{AsAPI: asAPI, OpenTimeout: wait.Limit})
	assert.NoError(t, err)
	defer db.Close()
	const writing = `select txid_current()::text`
	onStandby := func() (there bool, err error) {
		err = db.Get(t.Context(), &there, `select pg_is_in_recovery()`)
		return there, err
	}
	write := func() error {
		return db.Tx(t.Context(), func(ctx context.Context, tx pgconn.Tx) error {
			if _, err := tx.Exec(ctx, `create temporary table at_work (n int) on commit drop`); err != nil {
				return err
			}
			var n string
			return tx.Get(ctx, &n, writing)
		})
	}
	if asAPI { // It may not make tables.
		write = func() error { return db.PingWrites(t.Context()) }
	}
	wait.Until(t, "a write", func() bool { return write() == nil })

	to.lead(t, standby)
	before := to.dialed.Load()
	var failed error
	wait.Until(t, "a pool on a standby", func() bool {
		failed = write()
		return pgconn.Reason(failed) == pgconn.ReadOnly
	}, &failed)
	assert.True(t, errors.Is(failed, pgconn.ErrUnavailable), "the error is", failed)
	assert.Contains(t, failed.Error(), "standby")
	if asAPI {
		wait.Until(t, "a read that is refused on a standby", func() bool {
			_, failed = onStandby()
			assert.True(t, failed != nil, "what the API reads on a standby may be old")
			return pgconn.Reason(failed) == pgconn.ReadOnly // and not a time limit, on a busy machine
		}, &failed)
	} else if attrs == "" {
		wait.Until(t, "reads on a standby", func() bool {
			there, err := onStandby()
			return there && err == nil
		})
	}
	wait.Until(t, "two fresh sessions", func() bool { return to.dialed.Load() >= before+3 })
	to.lead(t, primary)
	wait.Until(t, "a read on the primary again", func() bool {
		there, err := onStandby()
		return !there && err == nil
	})
	wait.Until(t, "a write again", func() bool { return write() == nil })
}

// TestReadsAlone: a pool that has only read, as petstorectl tail does for hours, leaves a standby.
// Its connections there were not ended.
func TestReadsAlone(t *testing.T) {
	t.Parallel()
	primary := storetest.NewServer(t)
	standby := primary.Standby()
	to := newAddress(t, standby)
	db, err := pgconn.Open(t.Context(), to.url(storetest.APILogin, ""), pgconn.Options{OpenTimeout: wait.Limit})
	assert.NoError(t, err)
	defer db.Close()
	u, err := url.Parse(primary.URL)
	assert.NoError(t, err)
	socket := filepath.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port"))
	to.socket.Store(&socket) // for new connections
	wait.Until(t, "a read on the primary", func() bool {
		var standby bool
		return db.Get(t.Context(), &standby, `select pg_is_in_recovery()`) == nil && !standby
	})
	// A pool that wants a standby stays there.
	wants := newAddress(t, standby)
	reader, err := pgconn.Open(t.Context(), wants.url(storetest.APILogin, "&target_session_attrs=standby"),
		pgconn.Options{OpenTimeout: wait.Limit})
	assert.NoError(t, err)
	defer reader.Close()
	dialed := wants.dialed.Load()
	assert.Equal(t, pgconn.Reason(reader.PingWrites(t.Context())), pgconn.ReadOnly)
	wait.Until(t, "another search", func() bool { // which takes longer than its second session
		to.lead(t, standby)
		return pgconn.Reason(db.PingWrites(t.Context())) == pgconn.ReadOnly
	})
	to.lead(t, primary)
	wait.Until(t, "its end", func() bool { return db.PingWrites(t.Context()) == nil })
	assert.Equal(t, wants.dialed.Load(), dialed, "connections of a pool that wants a standby")
}
