package main

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store"
)

const (
	// renewConns are connections of its own: requests that use up all others must not cost this server its lease.
	renewConns = 2
	// joinTimeout bounds the wait for the first term: somewhat longer than servers that ended silently are waited for.
	joinTimeout = cluster.FenceTimeout + 500*time.Millisecond
)

// member is this server's part in the cluster of those that decide together over limits.
type member struct {
	*cluster.Member
	db   *store.DB
	log  zerolog.Logger
	stop func()
}

func newMember(ctx context.Context, databaseURL, serverID string, log zerolog.Logger) (*member, error) {
	db, err := store.Open(ctx, databaseURL, store.Options{AsAPI: true, MaxConns: renewConns})
	if err != nil {
		return nil, err
	}
	return &member{Member: cluster.NewMember(db.Cluster, cluster.Options{ServerID: serverID, Log: log}), db: db, log: log}, nil
}

// join makes this server one of the cluster and waits until a term is in force, for a moment only: requests that come before
// it are no failures.
func (m *member) join(ctx context.Context) {
	m.stop = background(m.log, "be one of the cluster", m.Run)
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	if _, err := m.Await(ctx); errors.Is(err, context.DeadlineExceeded) {
		m.log.Warn().Msg("no term agreed with the other servers yet")
	}
}

// Close leaves the cluster, if this server has joined it.
func (m *member) Close() error {
	if m.stop != nil {
		m.stop()
	}
	return m.db.Close()
}

// alone tells in which term this server is the only one.
func (m *member) alone() (term int64, alone bool) {
	t, ok := m.Term()
	return t.Number, ok && t.Sole == m.ID()
}
