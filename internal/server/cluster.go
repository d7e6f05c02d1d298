package server

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store"
	"petstore.example/internal/storeclock"
)

const (
	// renewConns is the size of a connection pool that only renewals and /readyz use, so that a
	// load of requests cannot cost this server its lease. Each uses one connection at a time.
	renewConns = 2
	// joinTimeout bounds the wait for the first term. It is longer than the wait for a server that
	// stopped without leaving.
	joinTimeout = cluster.MaxFenceTimeout + 500*time.Millisecond
)

// member is this server's membership in the cluster, with its own connections.
type member struct {
	*cluster.Member
	// clock follows the store's with each renewal.
	clock *storeclock.Clock
	db    *store.DB
	log   zerolog.Logger
	stop  func()
}

// newMember returns a member that has not joined yet. The clock must have been measured.
func newMember(
	ctx context.Context,
	databaseURL string,
	m *registry,
	clock *storeclock.Clock,
	serverID string,
	log zerolog.Logger,
) (*member, error) {
	// The loss of a standby must not cost this server its lease. If a failover loses a part of the
	// term, the cluster notices a set-back.
	db, err := m.open(
		ctx,
		databaseURL,
		clusterPool,
		patiently(log, store.Options{AsAPI: true, MaxConns: renewConns, LocalCommit: true}),
	)
	if err != nil {
		return nil, err
	}
	renewals := &clockRenewals{Store: db.Cluster, clock: clock, log: log, note: db.Cluster.SetClockAhead}
	renewals.logChange()
	return &member{
		Member: cluster.NewMember(renewals, cluster.Options{ServerID: serverID, Log: log}),
		clock:  clock,
		db:     db,
		log:    log,
	}, nil
}

// join starts to renew the membership and waits for the first term, at most joinTimeout. Requests
// that arrive earlier wait as well.
func (m *member) join(ctx context.Context) {
	m.stop = background(m.log, "renew cluster membership", m.Run)
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	if _, err := m.Await(ctx); errors.Is(err, context.DeadlineExceeded) {
		m.log.Warn().Msg("waiting for a term that all servers agree on")
	}
}

// Close leaves the cluster if this server has joined it.
func (m *member) Close() error {
	if m.stop != nil {
		m.stop()
	}
	return m.db.Close()
}

// sole returns the number of the term in force (1 for the first ever), its beginning, and whether
// this server is its only live one.
func (m *member) sole() (term int64, since time.Time, sole bool) {
	t, since, ok := m.TermSince()
	if t.First {
		t.Number = 1
	}
	return t.Number, since, ok && t.Sole == m.ID()
}
