package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"

	"petstore.example/internal/fleet"
	"petstore.example/internal/store"
	"petstore.example/internal/store/storetest"
)

func renew(t *testing.T, db *store.DB, b fleet.Beat) fleet.State {
	t.Helper()
	s, err := db.Renew(t.Context(), b)
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
	gone := fleet.Server{ID: "gone", Seen: begin.Add(-time.Hour)}
	closed := gone.Seen.Add(fleet.Silence + time.Second)
	for _, step := range []struct {
		beat   fleet.Beat
		term   fleet.Term
		active bool
		others []fleet.Server
	}{
		{fleet.Beat{ServerID: "a"}, fleet.Term{Number: 1, Alone: "a", Closed: closed, Servers: 1}, false, []fleet.Server{gone}},
		{fleet.Beat{ServerID: "a", Acked: 1}, fleet.Term{Number: 1, Alone: "a", Closed: closed, Servers: 1}, true, []fleet.Server{gone}},
		{fleet.Beat{ServerID: "a", Redis: "r", Acked: 1}, fleet.Term{Number: 2, Redis: "r", Closed: closed, Servers: 1}, false, []fleet.Server{gone}},
		{fleet.Beat{ServerID: "a", Redis: "r", Acked: 2}, fleet.Term{Number: 2, Redis: "r", Closed: closed, Servers: 1}, true, []fleet.Server{gone}},
	} {
		b := step.beat
		want := fleet.State{Term: step.term, Active: step.active,
			Servers: append([]fleet.Server{{ID: "a", Seen: time.Now(), Redis: b.Redis, Acked: b.Acked}}, step.others...)}
		if diff := cmp.Diff(want, renew(t, db.api, b), same); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", b, diff)
		}
	}
	want := fleet.State{Term: fleet.Term{Number: 2, Redis: "r", Closed: closed, Servers: 1}, Active: true, Servers: []fleet.Server{
		{ID: "a", Seen: time.Now(), Redis: "r", Acked: 2}, {ID: "b", Seen: time.Now(), Redis: "r"}, gone}}
	if diff := cmp.Diff(want, renew(t, db.api, fleet.Beat{ServerID: "b", Redis: "r"}), same); diff != "" {
		t.Errorf("another joins (-want +got)\n%s", diff)
	}
	for range 2 {
		if err := db.api.Leave(t.Context(), "a"); err != nil {
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
	beat := fleet.Beat{ServerID: "a"}
	renew(t, db.api, beat)
	beat.Acked = 1
	renew(t, db.api, beat)
	// The background writer may write in the meantime, but not every time.
	quiet := 0
	for range 20 {
		before := flushed()
		renew(t, db.api, beat)
		if flushed() == before {
			quiet++
		}
	}
	if quiet == 0 {
		t.Error("every renewal waits for the disk")
	}
}

// TestFleetsOfServersAtOnce: many servers join, renew and agree at the same time.
func TestFleetsOfServersAtOnce(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	var members []*fleet.Member
	for i := range 8 {
		m := fleet.NewMember(db.api, fleet.Options{ServerID: fmt.Sprintf("s%d", i)})
		m.SetRedis("r")
		members = append(members, m)
	}
	for _, m := range members {
		runFor(t, m.Run)
	}
	for _, m := range members {
		await(t, m, "r", len(members))
	}
}

// TestServersAgreeQuickly: a loss of Redis that one server sees is known to all, by notice.
func TestServersAgreeQuickly(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	var members []*fleet.Member
	for i := range 3 {
		m := fleet.NewMember(openAPI(t, db.URL, 0), fleet.Options{ServerID: fmt.Sprintf("s%d", i)})
		m.SetRedis("r")
		members = append(members, m)
		h := &heard{}
		runFor(t, func(ctx context.Context) error { return store.Listen(ctx, db.URL, h, m.Kick, zerolog.Nop()) })
		h.await(t, "restored")
		runFor(t, m.Run)
		await(t, m, "r", i+1)
	}
	for round := range 5 {
		begin := time.Now()
		members[round%3].SetRedis("")
		for _, m := range members {
			await(t, m, "", 3)
		}
		t.Logf("all left Redis after %v", time.Since(begin))
		begin = time.Now()
		members[round%3].SetRedis("r")
		for _, m := range members {
			await(t, m, "r", 3)
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

func await(t *testing.T, m *fleet.Member, redis string, servers int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if term, ok := m.Term(); ok && term.Redis == redis && m.Size() == servers {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
	term, ok := m.Term()
	t.Fatalf("server %s: in force %v %+v of %d servers, want Redis %q and %d", m.ID(), ok, term, m.Size(), redis, servers)
}

// TestFrozenRenewalHoldsUpNobody: Postgres ends the transaction of a server that was frozen in the middle of it.
func TestFrozenRenewalHoldsUpNobody(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	renew(t, db.api, fleet.Beat{ServerID: "a"})
	tx, err := db.owner.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), store.LockFleetQuery); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	renew(t, db.api, fleet.Beat{ServerID: "b"})
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("held up for %v", took)
	}
}
