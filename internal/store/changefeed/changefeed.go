// Package changefeed receives the changes of keys, tenants, plans and bans that Postgres notifies,
// and passes them to the directory of callers. It brings a revocation or another plan to every
// server.
//
// The connection may die silently, and the process may be frozen. So the feed proves that it works:
// it pings on the listening connection itself, and Postgres sends every notification of an earlier
// commit before its reply. When the notifications before the reply have been passed on, all changes
// acknowledged before the ping are known (FeedProven).
package changefeed

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lib/pq"
	"github.com/rs/zerolog"

	"petstore.example/internal/keys"
	"petstore.example/internal/store/counters"
	"petstore.example/internal/store/pgconn"
)

const (
	callersChannel = "petstore_callers"
	// pingEvery is the interval between pings. The receiver can ask for an earlier one.
	pingEvery = 150 * time.Millisecond
	// replyTimeout is how long a reply may take before another connection replaces this one.
	replyTimeout = 2 * time.Second
	// connectSeconds bounds an attempt to connect.
	connectSeconds = "2"
	minReconnect   = 50 * time.Millisecond
	maxReconnect   = time.Second
)

// Receiver receives changes of callers. Its methods must return quickly, and are called one at a
// time.
type Receiver interface {
	KeyChanged(keys.DigestPrefix)
	TenantChanged(tenantID int64)
	// AllChanged says that anything may have changed. It is called whenever a connection begins to
	// listen.
	AllChanged()
	// FeedProven says that every change acknowledged before that time (of time.Now) has been passed
	// on.
	FeedProven(at time.Time)
	// ProofWanted has a token when the next FeedProven is wanted at once.
	ProofWanted() <-chan struct{}
	// FeedLost says that changes go unnoticed until the next FeedProven.
	FeedLost()
}

// Listen passes every change of a key, tenant, plan or ban to callers until ctx ends. It calls
// terms when the servers' term may have changed; terms must return quickly. Listen needs a direct
// connection: no notification arrives through a pooler that shares connections. It asks url for the
// connection string repeatedly, and replaces the connection when the string changes. While the
// database is down, it waits.
func Listen(ctx context.Context, url func() string, callers Receiver, terms func(), log zerolog.Logger) {
	l := &listener{url: url, to: callers, terms: terms, log: log}
	for pause := minReconnect; ctx.Err() == nil; pause = min(2*pause, maxReconnect) {
		if l.listen(ctx) {
			pause = minReconnect
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

type listener struct {
	url   func() string
	to    Receiver
	terms func()
	log   zerolog.Logger
	// lost is true after a listening connection was lost.
	lost bool
}

// listen listens on one connection until it is lost or ctx ends. It reports whether it listened.
func (l *listener) listen(ctx context.Context) (listened bool) {
	notices := make(chan *pq.Notification, 256)
	url := l.url()
	conn, err := pq.NewListenerConn(url+" connect_timeout="+connectSeconds, notices)
	if err != nil {
		return false
	}
	c := &connection{
		listener: l,
		url:      url,
		conn:     conn,
		notices:  notices,
		asks:     make(chan struct{}),
		replies:  make(chan error, 1),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.send()
	}()
	listened = c.run(ctx)
	close(c.asks)
	// It fails if the connection has already ended.
	_ = conn.Close()
	for range notices {
		// Wait until the driver's goroutine has ended.
	}
	<-ended
	if listened && ctx.Err() == nil {
		l.lost = true
		l.log.Warn().Err(conn.Err()).Msg("change feed lost: notifications of changes do not arrive")
		l.to.FeedLost()
	}
	return listened
}

// restored is called when a connection has begun to listen.
func (l *listener) restored() {
	if l.lost {
		l.log.Info().Msg("change feed restored")
	}
	l.lost = false
	// Changes in the meantime were not notified.
	l.to.AllChanged()
	l.terms()
}

// notified passes on a notification.
func (l *listener) notified(n *pq.Notification) {
	if n.Channel == counters.Channel {
		l.terms()
		return
	}
	kind, id, _ := strings.Cut(n.Extra, " ")
	switch kind {
	case "key":
		var prefix keys.DigestPrefix
		if len(id) == hex.EncodedLen(len(prefix)) {
			if _, err := hex.Decode(prefix[:], []byte(id)); err == nil {
				l.to.KeyChanged(prefix)
				return
			}
		}
	case "tenant":
		if tenantID, err := strconv.ParseInt(id, 10, 64); err == nil {
			l.to.TenantChanged(tenantID)
			return
		}
	}
	// The payload is "all", or one that only a newer version knows.
	l.to.AllChanged()
}

// connection is a listening connection. run passes on what arrives, while send waits for replies.
type connection struct {
	*listener
	url     string
	conn    *pq.ListenerConn
	notices chan *pq.Notification
	// asks makes send ping once. replies has the result of each ping and, before these, of the
	// listen statement.
	asks    chan struct{}
	replies chan error
}

// send listens, and then pings whenever it is asked to.
func (c *connection) send() {
	for _, channel := range []string{callersChannel, counters.Channel} {
		if _, err := c.conn.Listen(channel); err != nil {
			if pgconn.Reason(err) == pgconn.ReadOnly { // A pooler would give this connection the same session again.
				_, _ = c.conn.ExecSimpleQuery(pgconn.EndBackend)
			}
			c.replies <- fmt.Errorf("listen to %s: %w", channel, err)
			return
		}
	}
	c.replies <- nil
	for range c.asks {
		// This query is empty. ListenerConn.Ping panics if Postgres cancels it.
		_, err := c.conn.ExecSimpleQuery("")
		c.replies <- err
	}
}

// run passes on what arrives until the connection is lost, a reply is late, or ctx ends. It reports
// whether it listened.
func (c *connection) run(ctx context.Context) (listened bool) {
	next, overdue := time.NewTimer(pingEvery), time.NewTimer(replyTimeout)
	defer next.Stop()
	defer overdue.Stop()
	sent := time.Now()
	waits := true // waits for a reply
	ask := func() {
		sent, waits = time.Now(), true
		overdue.Reset(replyTimeout)
		c.asks <- struct{}{}
	}
	for {
		wanted := c.to.ProofWanted()
		if waits {
			wanted = nil
		}
		select {
		case <-ctx.Done():
			return listened
		case n, ok := <-c.notices:
			if !ok {
				return listened
			}
			c.notified(n)
		case err := <-c.replies:
			if err != nil || !c.drain() {
				return listened
			}
			waits = false
			next.Reset(pingEvery - time.Since(sent))
			if listened {
				c.to.FeedProven(sent)
				continue
			}
			listened = true
			c.restored()
			ask()
		case <-wanted:
			ask()
		case <-next.C:
			if c.url != c.listener.url() {
				return listened
			}
			if !waits {
				ask()
			}
		case <-overdue.C:
			if waits {
				return listened
			}
		}
	}
}

// drain passes on the notifications that arrived before a reply. It returns false if the connection
// has ended.
func (c *connection) drain() bool {
	for {
		select {
		case n, ok := <-c.notices:
			if !ok {
				return false
			}
			c.notified(n)
		default:
			return true
		}
	}
}
