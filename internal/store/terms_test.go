package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store"
	"petstore.example/internal/store/storetest"
)

func renew(t *testing.T, db *store.DB, hb cluster.Heartbeat) cluster.State {
	t.Helper()
	s, err := db.Cluster.Renew(t.Context(), hb)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRenew: what one server says and what follows from it is there for the next one.
func TestRenew(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	begin := time.Now().Add(-time.Second)
	db.exec(t, `insert into servers (id, seen_at, acked) values ('gone', now() - interval '1 hour', 0), ('long gone', now() - interval '26 hours', 0)`)
	same := cmpopts.EquateApproxTime(time.Minute)
	gone := cluster.Server{ID: "gone", Seen: begin.Add(-time.Hour)}
	closed := gone.Seen.Add(cluster.FenceTimeout + time.Second)
	for _, step := range []struct {
		heartbeat cluster.Heartbeat
		term      cluster.Term
		active    bool
		others    []cluster.Server
	}{
		{cluster.Heartbeat{ServerID: "a"}, cluster.Term{Number: 1, Sole: "a", UncleanUntil: closed, Servers: 1}, false, []cluster.Server{gone}},
		{cluster.Heartbeat{ServerID: "a", Acked: 1}, cluster.Term{Number: 1, Sole: "a", UncleanUntil: closed, Servers: 1}, true, []cluster.Server{gone}},
		{cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: 1}, cluster.Term{Number: 2, Redis: "r", UncleanUntil: closed, Servers: 1}, false, []cluster.Server{gone}},
		{cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: 2}, cluster.Term{Number: 2, Redis: "r", UncleanUntil: closed, Servers: 1}, true, []cluster.Server{gone}},
	} {
		hb := step.heartbeat
		want := cluster.State{Term: step.term, Active: step.active, Now: time.Now(),
			Servers: append([]cluster.Server{{ID: "a", Seen: time.Now(), Redis: hb.Redis, Acked: hb.Acked}}, step.others...)}
		if diff := cmp.Diff(want, renew(t, db.api, hb), same); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", hb, diff)
		}
	}
	want := cluster.State{Term: cluster.Term{Number: 2, Redis: "r", UncleanUntil: closed, Servers: 1}, Active: true, Servers: []cluster.Server{
		{ID: "a", Seen: time.Now(), Redis: "r", Acked: 2}, {ID: "b", Seen: time.Now(), Redis: "r"}, gone}, Now: time.Now()}
	if diff := cmp.Diff(want, renew(t, db.api, cluster.Heartbeat{ServerID: "b", Redis: "r"}), same); diff != "" {
		t.Errorf("another joins (-want +got)\n%s", diff)
	}
	for range 2 {
		if err := db.api.Cluster.Leave(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if got := db.text(t, `select string_agg(id, ' ' order by id) from servers`); got != "b gone" {
		t.Errorf("servers remembered: %s", got)
	}
}

// TestSignsOfLifeMayBeLost: in a crash, but no agreement.
func TestSignsOfLifeMayBeLost(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	flushed := func() string { return db.text(t, `select pg_current_wal_flush_lsn()`) }
	heartbeat := cluster.Heartbeat{ServerID: "a"}
	renew(t, db.api, heartbeat)
	heartbeat.Acked = 1
	renew(t, db.api, heartbeat)
	// The background writer may write in the meantime, but not every time.
	quiet := 0
	for range 20 {
		before := flushed()
		renew(t, db.api, heartbeat)
		if flushed() == before {
			quiet++
		}
	}
	if quiet == 0 {
		t.Error("every renewal waits for the disk")
	}
}

// TestManyServersAtOnce: many servers join, renew and agree at the same time.
func TestManyServersAtOnce(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
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
	s, err := db.api.Cluster.State(t.Context())
	if got := len(s.Servers); err != nil || got != len(members) {
		t.Errorf("%d servers, want %d: %v", got, len(members), err)
	}
}

// TestServersAgreeQuickly: a loss of Redis that one server sees is known to all, by notice.
func TestServersAgreeQuickly(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	var members []*cluster.Member
	for i := range 3 {
		m := cluster.NewMember(storetest.Open(t, db.URL, store.Options{AsAPI: true, Timeout: 0}).Cluster, cluster.Options{ServerID: fmt.Sprintf("s%d", i)})
		m.SetRedis("r")
		members = append(members, m)
		listen(t, db.URL, m.Wake).await(t, "restored")
		runFor(t, m.Run)
		await(t, m, "r")
	}
	for round := range 5 {
		begin := time.Now()
		members[round%3].SetRedis("")
		for _, m := range members {
			await(t, m, "")
		}
		t.Logf("all left Redis after %v", time.Since(begin))
		begin = time.Now()
		members[round%3].SetRedis("r")
		for _, m := range members {
			await(t, m, "r")
		}
		t.Logf("all are back after %v", time.Since(begin))
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
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func await(t *testing.T, m *cluster.Member, redis string) {
	t.Helper()
	deadline := time.Now().Add(longTimeout)
	for time.Now().Before(deadline) {
		if term, ok := m.Term(); ok && term.Redis == redis {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
	term, ok := m.Term()
	t.Fatalf("server %s: in force %v %+v, want Redis %q", m.ID(), ok, term, redis)
}
