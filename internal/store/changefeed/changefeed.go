// Package changefeed receives the changes of keys, tenants, plans and bans that Postgres notifies, and passes them to the
// directory of callers: a revocation or another plan arrives on every server here.
package changefeed

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
	"github.com/rs/zerolog"

	"petstore.example/internal/keys"
	"petstore.example/internal/store/counters"
	"petstore.example/internal/store/pgconn"
)

const (
	callersChannel = "petstore_callers"
	// The listening connection is pinged every listenPingEvery. A read on it may take listenReadTimeout, which is how long a
	// dead network stays unnoticed.
	listenPingEvery   = 2 * time.Second
	listenReadTimeout = 5 * time.Second
	minReconnect      = 50 * time.Millisecond
	maxReconnect      = time.Second
)

// Receiver receives changes of callers. Its methods must return quickly, and are called one at a time.
type Receiver interface {
	KeyChanged(keys.DigestPrefix)
	TenantChanged(tenantID int64)
	// AllChanged: anything may have changed.
	AllChanged()
	// FeedLost: since that time of time.Now changes may have gone unnoticed, and do until FeedRestored.
	FeedLost(since time.Time)
	// FeedRestored: changes are heard again; those of the meantime were not.
	FeedRestored()
}

// Listen passes every change of a key, tenant, plan or ban to callers until ctx ends, and calls terms, which must return
// quickly, when the servers' term may have changed. It needs a direct connection: through a pooler that shares connections no
// notice arrives. It returns an error when the URL can't be read. When the database is down, it waits.
func Listen(ctx context.Context, url string, callers Receiver, terms func(), log zerolog.Logger) error {
	if _, err := pq.NewConfig(url); err != nil {
		return errors.New("listen for changes: the database URL can't be read")
	}
	l := &listener{to: callers, terms: terms, log: log, events: make(chan pq.ListenerEventType), began: time.Now()}
	l.heard()
	l.pq = pq.NewDialListener(pgconn.Dialer{ReadTimeout: listenReadTimeout}, url, minReconnect, maxReconnect,
		func(e pq.ListenerEventType, _ error) {
			select {
			case l.events <- e:
			case <-ctx.Done():
			}
		})
	var helpers sync.WaitGroup
	helpers.Go(func() { l.ping(ctx) })
	// Listen waits for the first connection, which may be long in coming: run reads the events meanwhile.
	listening := make(chan error, 1)
	helpers.Go(func() { listening <- errors.Join(l.pq.Listen(callersChannel), l.pq.Listen(counters.Channel)) })
	err := l.run(ctx, listening)
	err = errors.Join(err, l.pq.Close())
	helpers.Wait()
	for range l.pq.NotificationChannel() {
		// Until the listener's goroutine has ended.
	}
	if err != nil {
		return fmt.Errorf("listen for changes: %w", err)
	}
	return nil
}

type listener struct {
	pq     *pq.Listener
	to     Receiver
	terms  func()
	log    zerolog.Logger
	events chan pq.ListenerEventType
	// lastHeard is when the server last sent something, by the monotonic clock: nanoseconds since began.
	began     time.Time
	lastHeard atomic.Int64
	// lost is only touched by run.
	lost bool
}

func (l *listener) heard() { l.lastHeard.Store(int64(time.Since(l.began))) }

func (l *listener) run(ctx context.Context, listening <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-l.events:
			l.event(e)
		case err := <-listening:
			if err != nil {
				return err
			}
			// After a loss, the nil notification of the next connection shows that it listens again.
			if !l.lost {
				l.to.FeedRestored()
				l.terms()
			}
		case n := <-l.pq.NotificationChannel():
			l.heard()
			switch {
			case n == nil:
				l.lost = false
				l.to.FeedRestored()
				l.terms()
			case n.Channel == counters.Channel:
				l.terms()
			default:
				l.notice(n.Extra)
			}
		}
	}
}

func (l *listener) event(e pq.ListenerEventType) {
	switch e {
	case pq.ListenerEventDisconnected:
		l.lost = true
		l.log.Warn().Msg("change feed lost: notifications of changes do not arrive")
		l.to.FeedLost(l.began.Add(time.Duration(l.lastHeard.Load())))
	case pq.ListenerEventReconnected:
		l.log.Info().Msg("change feed restored")
	case pq.ListenerEventConnected, pq.ListenerEventConnectionAttemptFailed:
	}
}

func (l *listener) notice(text string) {
	kind, id, _ := strings.Cut(text, " ")
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

// ping detects a dead connection. It has its own goroutine because it may wait for a read.
func (l *listener) ping(ctx context.Context) {
	tick := time.NewTicker(listenPingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// An error ends the connection, which the listener detects itself.
			if l.pq.Ping() == nil {
				l.heard()
			}
		}
	}
}
