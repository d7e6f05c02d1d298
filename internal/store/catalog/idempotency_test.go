package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/wait"
)

// wantOne checks that there is one animal of that name, and that the answer is for it.
func wantOne(t *testing.T, s fixture.Shop, tenantID int64, name string, a catalog.Answer) {
	t.Helper()
	var found []catalog.Pet
	for _, p := range s.AllPets(t, tenantID) {
		if p.Name == name {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d animals named %s", len(found), name)
	}
	assert.DeepEqual(t, a, fixture.AnswerOf(found[0]), "answer")
}

// A key belongs to its tenant, method and path.
func TestOnceScope(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	path, method, nothing := fixture.Request("k", "Rex"), fixture.Request("k", "Rex"), fixture.Request("k", "Rex")
	path.Path, method.Method = "/v1/store/orders", "PUT"
	for name, tt := range map[string]struct {
		tenantID int64
		r        catalog.Idempotency
	}{
		"first": {s.A.ID, nothing}, "other tenant": {s.B.ID, fixture.Request("k", "other")},
		"other path":   {s.A.ID, path},
		"other method": {s.A.ID, method},
		"other key":    {s.A.ID, fixture.Request("K", "Rex")},
		"a long key":   {s.A.ID, fixture.Request(strings.Repeat("~", 255), "Rex")},
	} {
		if _, replayed, err := fixture.Once(
			t.Context(),
			s.Idempotency,
			tt.tenantID,
			fixture.Adding(tt.r, "Rex"),
		); err != nil ||
			replayed {
			t.Errorf("%s: replayed %v, %v", name, replayed, err)
		}
	}
	if a, b := len(s.AllPets(t, s.A.ID)), len(s.AllPets(t, s.B.ID)); a != 5 || b != 1 {
		t.Errorf("%d animals of A and %d of B", a, b)
	}
}

func TestOnceForOrders(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	pet := s.Pet(t, s.A, catalog.Available)
	order := func(key string) (catalog.Answered, error) {
		return s.Idempotency.PlaceOrderOnce(t.Context(), s.A.ID, fixture.Ordering(key, pet.ID))
	}
	first, err := order("k")
	assert.NoError(t, err)
	again, err := order("k")
	if diff := cmp.Diff(first.Answer, again.Answer); err != nil || !again.Replayed || diff != "" {
		t.Errorf("again: %v, %v (-first +again):\n%s", again, err, diff)
	}
	orders := s.AllOrders(t, s.A)
	answer, err := fixture.Ordering("k", pet.ID).Answer(&orders[0])
	assert.Result(t, len(orders), err, 1, "orders")
	assert.DeepEqual(t, first.Answer, answer)
	// What fails is not stored: the key is free for another attempt, even with another body.
	_, err = order("k2")
	assert.ErrorIs(t, err, catalog.ErrPetNotAvailable, "second order")
	if _, replayed, err := fixture.Once(
		t.Context(),
		s.Idempotency,
		s.A.ID,
		fixture.Adding(fixture.Request("k2", "Rex"), "Max"),
	); err != nil ||
		replayed {
		t.Errorf("after a failure: replayed %v, %v", replayed, err)
	}
}

// An answer that is committed after a statement has begun, and before it has the lock, is replayed.
func TestOnceLooksAfterItLocks(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	s.Exec(t, `create function slow(scope bigint) returns boolean language plpgsql as 'begin
		perform pg_advisory_xact_lock(42); return pg_try_advisory_xact_lock(scope); end';
		grant execute on function slow to petstore_api`)
	s.Exec(
		t,
		`do $$ begin execute replace(pg_get_functiondef('claim_idempotency_keys'::regproc), `+
			`'pg_try_advisory_xact_lock', 'slow'); end $$`,
	)
	tx := s.Owner.MustBegin()
	defer func() { _ = tx.Rollback() }()
	tx.MustExec(`select pg_advisory_xact_lock(42)`)
	tx.MustExec(`insert into idempotency_keys
		values ($1, 'POST', '/v1/pets', 'k', sha256('Rex'), 201, '', '', $2, $2::timestamptz + interval
		  '1 hour')`, s.A.ID, fixture.Noon)
	replayed := make(chan bool)
	go func() {
		_, again, err := fixture.Once(
			context.Background(),
			s.Idempotency,
			s.A.ID,
			fixture.Adding(fixture.Request("k", "Rex"), "Rex"),
		)
		replayed <- again && err == nil
	}()
	wait.Until(t, "it waits", func() bool {
		return s.Text(
			t,
			`select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`,
		) == "1"
	})
	assert.NoError(t, tx.Commit())
	assert.True(t, <-replayed && len(s.AllPets(t, s.A.ID)) == 0, "it was done once more")
}

// An answer is given again for 24 hours, and from that instant on it is as if it had never been.
func TestOnceExpires(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	at := func(when time.Time, name string) catalog.Idempotency {
		r := fixture.Request("k", name)
		r.At = when
		return r
	}
	end := fixture.Noon.Add(24 * time.Hour)
	for _, tt := range []struct {
		name     string
		r        catalog.Idempotency
		replayed bool
		err      error
	}{
		{"first", at(fixture.Noon, "Rex"), false, nil},
		{"just before the end", at(end.Add(-time.Microsecond), "Rex"), true, nil},
		{"just before the end, other body", at(end.Add(-time.Microsecond), "Luna"), false,
			catalog.ErrIdempotencyKeyReused},
		{"at the end, other body", at(end, "Luna"), false, nil},
		{"the new one", at(end.Add(24*time.Hour-time.Microsecond), "Luna"), true, nil},
		{"the old one", at(end, "Rex"), false, catalog.ErrIdempotencyKeyReused},
	} {
		_, replayed, err := fixture.Once(t.Context(), s.Idempotency, s.A.ID, fixture.Adding(tt.r, "Rex or Luna"))
		if replayed != tt.replayed || !errors.Is(err, tt.err) {
			t.Errorf("%s: replayed %v, %v, want %v, %v", tt.name, replayed, err, tt.replayed, tt.err)
		}
	}
	pets := s.AllPets(t, s.A.ID)
	assert.Equal(t, len(pets), 2, pets)
}

func TestPruneIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	keep := func(tenantID int64, key string, at time.Time) {
		t.Helper()
		r := fixture.Request(key, key)
		r.At = at
		_, _, err := fixture.Once(t.Context(), s.Idempotency, tenantID, fixture.Adding(r, key))
		assert.NoError(t, err)
	}
	for i := range 5 {
		keep(s.A.ID, fmt.Sprintf("a%d", i), fixture.Noon)
		keep(s.B.ID, fmt.Sprintf("b%d", i), fixture.Noon.Add(time.Duration(i)*time.Second))
	}
	end := fixture.Noon.Add(24 * time.Hour)
	for _, tt := range []struct {
		now            time.Time
		limit, removed int
	}{
		{end.Add(-time.Microsecond), 100, 0},
		{end, 4, 4}, {end, 4, 2}, {end, 4, 0}, // all of A's and the first of B's
		{end.Add(3 * time.Second), 100, 3},
	} {
		removed, err := s.Idempotency.Prune(t.Context(), tt.now, tt.limit)
		assert.Result(t, removed, err, tt.removed, "at", tt.now, "limit", tt.limit, "removed")
	}
	var left []string
	if s.Rows(t, &left, `select key from idempotency_keys`); cmp.Diff([]string{"b4"}, left) != "" {
		t.Errorf("left: %v", left)
	}
	assert.Equal(t, len(s.AllPets(t, s.A.ID))+len(s.AllPets(t, s.B.ID)), 10, "animals are left")
	removed, err := s.Idempotency.Prune(t.Context(), time.Now().AddDate(100, 0, 0), math.MaxInt32)
	assert.Result(t, removed, err, 1, "in the end: removed")
}

// Removing reads what has expired, by the index on it, and not the whole table. What has not
// expired now stays, whatever the instant.
func TestPruneReadsOnlyWhatExpired(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.Exec(t, `insert into idempotency_keys
		select $1, 'POST', '/v1/pets', n::text, sha256(''), 201, '', '', now(), now() + interval '1 hour' * least(n -
			5.5, 20)
		from generate_series(1, 20000) n`, s.A.ID)
	s.Exec(t, `vacuum analyze idempotency_keys`)
	tx := fixture.Connect(t, s.APIURL).MustBegin()
	defer func() { _ = tx.Rollback() }()
	var removed int
	err := tx.Get(&removed, `select removed from prune_idempotency_keys(now() + interval '5 hours 30 minutes', 0, 100)`)
	if err != nil || removed != 5 {
		t.Fatalf("removed %d, %v, want 5", removed, err)
	}
	var scans, rows int
	if err := tx.QueryRow(`select seq_scan, seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables
		where relname = 'idempotency_keys'`).Scan(&scans, &rows); err != nil || scans > 0 || rows > 20 {
		t.Errorf("%d scans of the whole table, %d rows read, %v", scans, rows, err)
	}
}

// Each step takes up where the last one came to, over any number of tenants.
func TestPruneManyTenants(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.Exec(t, `select test_tenant('tenant-' || n, 'free') from generate_series(1, 2500) n`)
	s.Exec(t, `insert into idempotency_keys
		select id, 'POST', '/v1/pets', 'k', sha256(''), 201, '', '', now(), $1 from tenants`, fixture.Noon)
	for _, want := range []int{1500, 1002, 0} {
		removed, err := s.Idempotency.Prune(t.Context(), fixture.Noon, 1500)
		assert.Result(t, removed, err, want, "removed")
	}
}
