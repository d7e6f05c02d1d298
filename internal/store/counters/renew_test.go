package counters_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"petstore.example/internal/cluster"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

// TestRenew: what one server says and what follows from it is there for the next one.
func TestRenew(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	begin := time.Now()
	db.Exec(
		t,
		`insert into servers (id, seen_at, acked, months) values
			('gone', now() - interval '1 minute', 0, true), ('long gone', now() - interval '26 hours', 0, true)`,
	)
	same := cmp.Options{
		cmpopts.EquateApproxTime(20 * time.Second),
		cmpopts.IgnoreFields(cluster.State{}, "Database", "Origin"),
	}
	gone := cluster.Server{ID: "gone", Seen: begin.Add(-time.Minute), Lease: cluster.Lease}
	hb := cluster.Heartbeat{ServerID: "a", Lease: cluster.Lease}
	number := fixture.Renew(t, db.API, hb).Term.Number
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
		got := fixture.Renew(t, db.API, hb)
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
		fixture.Renew(t, db.API, cluster.Heartbeat{ServerID: "b", Redis: "r", Lease: cluster.Lease, Sequence: 1}),
		same,
	); diff != "" {
		t.Errorf("another joins (-want +got)\n%s", diff)
	}
	for range 2 {
		assert.NoError(t, db.API.Cluster.Leave(t.Context(), "a"))
	}
	db.Want(t, "b gone", `select string_agg(id, ' ' order by id) from servers`)
}

// TestLateHeartbeat: one that arrives after a later one has no effect.
func TestLateHeartbeat(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	fixture.Renew(t, db.API, cluster.Heartbeat{ServerID: "a", Redis: "r", Sequence: 2})
	db.Exec(t, `select renew_server('a', 'late', 0, 1000, 1)`)
	assert.Equal(t, db.Text(t, `select redis from servers`), "r", "redis")
}

// TestSignsOfLifeMayBeLost in a crash, but not one that is late or that takes a longer lease:
// cluster.RenewLate.
func TestSignsOfLifeMayBeLost(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	flushed := func() string { return db.Text(t, `select pg_current_wal_flush_lsn()`) }
	heartbeat := cluster.Heartbeat{ServerID: "a", Lease: cluster.Lease}
	next := func() {
		heartbeat.Sequence++
		heartbeat.Acked = fixture.Renew(t, db.API, heartbeat).Term.Number
	}
	next()
	next()
	for name, tt := range map[string]struct {
		before func()
		lost   bool
	}{
		"in its turn": {func() {}, true},
		"late":        {func() { db.Exec(t, `update servers set seen_at = seen_at - interval '1 s'`) }, false},
		"with a longer lease": {func() {
			db.Exec(t, `update servers set lease = 1000`)
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
