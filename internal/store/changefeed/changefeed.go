// Package changefeed receives the changes of keys, tenants, plans and bans that Postgres notifies,
// and passes them to the directory of callers: a revocation or another plan arrives on every server
// here.
//
// The connection may die without a word, and the process may be frozen. So the feed proves that it
// works: it pings on the listening connection itself, and Postgres sends every notification of an
// earlier commit before its reply. When the notifications before the reply have been passed on, the
// changes that were acknowledged before the ping are known (FeedProven).
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
	// pingEvery is the interval between pings. The receiver asks for one sooner if it needs it.
	pingEvery = 150 * time.Millisecond
	// replyTimeout is how long a connection may owe a reply before another takes its place.
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
	// AllChanged: anything may have changed. It comes whenever a connection begins to listen.
	AllChanged()
	// FeedProven: every change that was acknowledged before that time of time.Now has been passed
	// on.
	FeedProven(at time.Time)
	// ProofWanted has a token when the next FeedProven is to come at once.
	ProofWanted() <-chan struct{}
	// FeedLost: changes go unnoticed until the next FeedProven.
	FeedLost()
}

// Listen passes every change of a key, tenant, plan or ban to callers until ctx ends, and calls
// terms, which must return quickly, when the servers' term may have changed. It needs a direct
// connection: through a pooler that shares connections no notification arrives. url is asked for
// the connection string again and again: another one takes the place of the connection. When the
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
	// lost is true after the loss of a connection that listened.
	lost bool
}

// listen listens by one connection until it is lost or ctx ends. It reports whether it listened.
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
	// It fails if the connection has ended by itself.
	_ = conn.Close()
	for range notices {
		// Until the driver's goroutine has ended.
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
	// "all", and what a newer version may send.
	l.to.AllChanged()
}

// connection is one that listens. run passes on what arrives; send waits for replies beside it.
type connection struct {
	*listener
	url     string
	conn    *pq.ListenerConn
	notices chan *pq.Notification
	// asks has send ping once. replies has the result of each ping and, before, that of beginning
	// to listen.
	asks    chan struct{}
	replies chan error
}

// send listens and then pings whenever it is asked to.
func (c *connection) send() {
	for _, channel := range []string{callersChannel, counters.Channel} {
		if _, err := c.conn.Listen(channel); err != nil {
			if pgconn.Reason(err) == pgconn.ReadOnly { // A pooler would give it the same session again.
				_, _ = c.conn.ExecSimpleQuery(pgconn.EndBackend)
			}
			c.replies <- fmt.Errorf("listen to %s: %w", channel, err)
			return
		}
	}
	c.replies <- nil
	for range c.asks {
		// An empty query. ListenerConn.Ping panics if Postgres cancels it.
		_, err := c.conn.ExecSimpleQuery("")
		c.replies <- err
	}
}

// run passes on what arrives until the connection is lost, does not reply in time, or ctx ends. It
// reports whether it listened.
func (c *connection) run(ctx context.Context) (listened bool) {
	next, overdue := time.NewTimer(pingEvery), time.NewTimer(replyTimeout)
	defer next.Stop()
	defer overdue.Stop()
	sent := time.Now()
	waits := true // for a reply
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
