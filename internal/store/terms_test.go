package store_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

func renew(t *testing.T, db *store.DB, hb cluster.Heartbeat) cluster.State {
	t.Helper()
	s, err := db.Cluster.Renew(t.Context(), hb)
	assert.NoError(t, err)
	return s
}

// TestRenew: what one server says and what follows from it is there for the next one.
func TestRenew(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	begin := time.Now()
	db.exec(
		t,
		`insert into servers (id, seen_at, acked) values ('gone', now() - interval '1 minute', 0), ('long gone', now()
			- interval '26 hours', 0)`,
	)
	same := cmp.Options{
		cmpopts.EquateApproxTime(20 * time.Second),
		cmpopts.IgnoreFields(cluster.State{}, "Database", "Origin"),
	}
	gone := cluster.Server{ID: "gone", Seen: begin.Add(-time.Minute), Lease: cluster.Lease}
	hb := cluster.Heartbeat{ServerID: "a", Lease: cluster.Lease}
	number := renew(t, db.api, hb).Term.Number
	// The highest number comes from the clock: seconds since 2026.
	if want := int64(begin.Sub(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) / time.Second); number < want ||
		number > want+60 {
		t.Errorf("the first term is %d, want %d or a little more", number, want)
	}
	silent := gone.Seen.Add(cluster.FenceTimeout)
	first := cluster.Term{Number: number, First: true, Sole: "a", Servers: 1}
	active := first
	active.SilentUntil = silent
	var next cluster.Term
	for _, step := range []struct {
		redis  string
		acked  func() int64
		term   func(number int64) cluster.Term
		active bool
	}{
		{"", func() int64 { return 0 }, func(int64) cluster.Term { return first }, false},
		{"", func() int64 { return number }, func(int64) cluster.Term { return active }, true},
		{"r", func() int64 { return number }, func(n int64) cluster.Term {
			return cluster.Term{Number: n, Redis: "r", SilentUntil: silent, Servers: 1}
		}, false},
		{"r", func() int64 { return next.Number }, func(int64) cluster.Term { return next }, true},
	} {
		hb.Redis, hb.Acked = step.redis, step.acked()
		hb.Sequence++
		got := renew(t, db.api, hb)
		next = got.Term
		want := cluster.State{Term: step.term(got.Term.Number), Active: step.active, Now: begin,
			Servers: []cluster.Server{{ID: "a", Seen: begin, Redis: hb.Redis, Acked: hb.Acked, Lease: hb.Lease}, gone}}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", hb, diff)
		}
	}
	assert.True(t, next.Number > number, "term", next.Number, "follows", number)
	want := cluster.State{Term: next, Active: true, Now: begin, Servers: []cluster.Server{
		{
			ID:    "a",
			Seen:  begin,
			Redis: "r",
			Acked: next.Number,
			Lease: cluster.Lease,
		},
		{ID: "b", Seen: begin, Redis: "r", Lease: cluster.Lease},
		gone,
	}}
	if diff := cmp.Diff(
		want,
		renew(t, db.api, cluster.Heartbeat{ServerID: "b", Redis: "r", Lease: cluster.Lease, Sequence: 1}),
		same,
	); diff != "" {
		t.Errorf("another joins (-want +got)\n%s", diff)
	}
	for range 2 {
		assert.NoError(t, db.api.Cluster.Leave(t.Context(), "a"))
	}
	db.want(t, "b gone", `select string_agg(id, ' ' order by id) from servers`)
}

// TestLateHeartbeat: one that arrives after a later one has no effect.
func TestLateHeartbeat(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	renew(t, db.api, cluster.Heartbeat{ServerID: "a", Redis: "r", Sequence: 2})
	db.exec(t, `select renew_server('a', 'late', 0, 1000, 1)`)
	assert.Equal(t, db.text(t, `select redis from servers`), "r", "redis")
}

// TestSignsOfLifeMayBeLost in a crash, but not one that is late or that takes a longer lease:
// cluster.RenewLate.
func TestSignsOfLifeMayBeLost(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	flushed := func() string { return db.text(t, `select pg_current_wal_flush_lsn()`) }
	heartbeat := cluster.Heartbeat{ServerID: "a", Lease: cluster.Lease}
	next := func() {
		heartbeat.Sequence++
		heartbeat.Acked = renew(t, db.api, heartbeat).Term.Number
	}
	next()
	next()
	for name, tt := range map[string]struct {
		before func()
		lost   bool
	}{
		"in its turn": {func() {}, true},
		"late":        {func() { db.exec(t, `update servers set seen_at = seen_at - interval '1 s'`) }, false},
		"with a longer lease": {func() {
			db.exec(t, `update servers set lease = 1000`)
			heartbeat.Lease += time.Second
		}, false},
	} {
		heartbeat.Lease = cluster.Lease
		next()
		// The background writer may write in the meantime, but not every time.
		quiet := 0
		for range 20 {
			tt.before()
			before := flushed()
			next()
			if flushed() == before {
				quiet++
			}
		}
		if tt.lost != (quiet > 0) {
			t.Errorf("%s: %d of 20 did not wait for the disk", name, quiet)
		}
	}
}

// TestManyServersAtOnce: many servers join, renew and agree at the same time, and hear of the term
// by notice.
func TestManyServersAtOnce(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	var woken atomic.Bool
	listen(t, db.URL, func() { woken.Store(true) }).await(t, "all")
	var members []*cluster.Member
	for i := range 8 {
		m := cluster.NewMember(db.api.Cluster, cluster.Options{ServerID: fmt.Sprintf("s%d", i)})
		m.SetRedis("r")
		members = append(members, m)
	}
	for _, m := range members {
		runFor(t, m.Run)
	}
	for _, m := range members {
		await(t, m, "r")
	}
	wait.Until(t, "a notice", woken.Load)
	s, err := db.api.Cluster.State(t.Context())
	if got := len(s.Servers); err != nil || got != len(members) {
		t.Errorf("%d servers, want %d: %v", got, len(members), err)
	}
}

// runFor runs work until the test ends.
func runFor(t *testing.T, work func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.Equal(t, <-done, nil)
	})
}

func await(t *testing.T, m *cluster.Member, redis string) {
	t.Helper()
	deadline := time.Now().Add(longTimeout)
	for time.Now().Before(deadline) {
		if term, ok := m.Term(); ok && term.Redis == redis {
			return
		}
		time.Sleep(100 * time.Microsecond) // between two looks
	}
	term, ok := m.Term()
	t.Fatalf("server %s: in force %v %+v, want Redis %q", m.ID(), ok, term, redis)
}
