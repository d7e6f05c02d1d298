package main

import (
	"context"
	"sync/atomic"
	"time"

	"petstore.example/internal/store"
)

const (
	heartbeatEvery = 5 * time.Second
	// aliveWithin is how recent a server's last heartbeat is for it to count.
	aliveWithin = 3 * heartbeatEvery
)

// fleet knows how many servers there are, from the heartbeats that each writes to the database.
type fleet struct {
	db       *store.DB
	serverID string
	servers  atomic.Int64
}

func newFleet(db *store.DB, serverID string) *fleet {
	f := &fleet{db: db, serverID: serverID}
	f.servers.Store(1)
	return f
}

// size returns the number of servers at the last heartbeat that succeeded, at least 1.
func (f *fleet) size() int { return int(f.servers.Load()) }

func (f *fleet) run(ctx context.Context) error {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for {
		f.beat(ctx)
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			return f.db.RemoveServer(ctx, f.serverID)
		case <-tick.C:
		}
	}
}

// beat leaves the number as it was when the database is away.
func (f *fleet) beat(ctx context.Context) {
	now := time.Now()
	if err := f.db.Heartbeat(ctx, f.serverID, now); err != nil {
		return
	}
	if n, err := f.db.LiveServers(ctx, now, aliveWithin); err == nil {
		f.servers.Store(int64(max(1, n)))
	}
}
