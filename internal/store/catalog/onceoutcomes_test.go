package catalog_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// lockScope holds the lock of a request of tenant A until the test ends, as a server does that
// works on it.
func lockScope(t *testing.T, s fixture.Shop, r catalog.Idempotency) {
	t.Helper()
	tx := s.Owner.MustBegin()
	t.Cleanup(func() { _ = tx.Rollback() })
	scope := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", s.A.ID, r.Method, r.Path, r.Key))
	tx.MustExec(`select pg_advisory_xact_lock($1)`, int64(binary.BigEndian.Uint64(scope[:])))
}

// TestOnceOutcomes: what a request with a key gets by what is known of the key.
func TestOnceOutcomes(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	ask := func(key, name string) fixture.PetOnce { return fixture.Adding(fixture.Request(key, name), name) }
	expired := ask("expired", "Older")
	expired.Request.At = fixture.Noon.AddDate(0, 0, -1)
	for _, o := range []fixture.PetOnce{ask("stored", "Old"), ask("replaying", "Max"), expired} {
		_, _, err := fixture.Once(t.Context(), s.Idempotency, s.A.ID, o)
		assert.NoError(t, err)
	}
	lockScope(t, s, fixture.Request("locked", "Kim"))
	lockScope(t, s, fixture.Request("replaying", "Max")) // as a replay does that has not ended
	odd := strings.Repeat(`"{},\ß`, 40)
	for _, want := range []struct {
		key, name string
		replayed  bool
		err       error
	}{
		{"stored", "Old", true, nil},
		{"stored", "other", false, catalog.ErrIdempotencyKeyReused},
		{"replaying", "Max", true, nil},
		{"expired", "New", false, nil},
		{"locked", "Kim", false, catalog.ErrIdempotencyInProgress},
		{"locked", "other", false, catalog.ErrIdempotencyInProgress},
		{"odd", odd, false, nil},
		{"odd", odd, true, nil},
	} {
		a, replayed, err := fixture.Once(t.Context(), s.Idempotency, s.A.ID, ask(want.key, want.name))
		assert.ErrorIs(t, err, want.err, want.key, want.name)
		assert.Equal(t, replayed, want.replayed, want.key, want.name, "replayed")
		if err == nil {
			wantOne(t, s, s.A.ID, want.name, a)
		}
	}
	assert.Equal(t, len(s.AllPets(t, s.A.ID)), 3+2, "animals")
}

// TestRefusalsStoreNoAnswer: a request with a key that is refused, by whatever, leaves no row. It
// can be corrected and sent with the same key.
func TestRefusalsStoreNoAnswer(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	free, held, freed := s.Pet(t, s.A, catalog.Available), s.Order(t, s.A).PetID, s.Order(t, s.A).PetID
	s.Exec(t, `update pets set status = 'available' where id = $1`, freed)
	_, err := s.Idempotency.PlaceOrderOnce(t.Context(), s.A.ID, fixture.Ordering("reused", s.Pet(t, s.A,
		catalog.Available).ID))
	assert.NoError(t, err)
	lockScope(t, s, fixture.Request("in progress", fmt.Sprint(free.ID)))
	broken := errors.New("broken")
	bad, failing := fixture.Ordering("bad", free.ID), fixture.Ordering("failing", free.ID)
	bad.New.Quantity = 0
	failing.Answer = func(*catalog.Order) (catalog.Answer, error) { return catalog.Answer{}, broken }
	before := customersRows(t, s)
	for _, refused := range []struct {
		status string
		asked  catalog.Once[catalog.NewOrder, catalog.Order]
		err    error // nil for what Postgres refuses
	}{
		{"404", fixture.Ordering("nobody's", math.MaxInt64), catalog.ErrPetNotFound},
		{"409, held", fixture.Ordering("held", held), catalog.ErrPetNotAvailable},
		{"409, held though available", fixture.Ordering("freed", freed), catalog.ErrPetNotAvailable},
		{"409, in progress", fixture.Ordering("in progress", free.ID), catalog.ErrIdempotencyInProgress},
		{"422", fixture.Ordering("reused", free.ID), catalog.ErrIdempotencyKeyReused},
		{"500, its answer fails", failing, broken},
		{"500, Postgres refuses the row", bad, nil},
	} {
		answered, err := s.Idempotency.PlaceOrderOnce(t.Context(), s.A.ID, refused.asked)
		if refused.err == nil {
			assert.True(t, pq.As(err, pqerror.CheckViolation) != nil, refused.status, err)
		} else {
			assert.ErrorIs(t, err, refused.err, refused.status)
		}
		assert.ErrorIs(t, err, catalog.ErrNotMade, refused.status)
		assert.DeepEqual(t, answered, catalog.Answered{}, refused.status)
		assert.DeepEqual(t, customersRows(t, s), before, refused.status, "rows")
	}
	for _, key := range []string{"nobody's", "held", "freed", "failing", "bad"} {
		corrected := fixture.Ordering(key, s.Pet(t, s.A, catalog.Available).ID)
		answered, err := s.Idempotency.PlaceOrderOnce(t.Context(), s.A.ID, corrected)
		assert.Result(t, answered.Replayed, err, false, key, "corrected")
	}
}

// TestReplayIsTheStoredBytes: a replay sends what is stored, whatever the animal is by now.
func TestReplayIsTheStoredBytes(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	ask := fixture.Adding(fixture.Request("k", "Rex"), "Rex")
	_, _, err := fixture.Once(t.Context(), s.Idempotency, s.A.ID, ask)
	assert.NoError(t, err)
	stored := catalog.Answer{Status: 202, Location: "/elsewhere", Body: []byte("\x00\xff{\"id\": 007 }\r\n")}
	s.Exec(t, `update idempotency_keys set status = $1, location = $2, body = $3`, stored.Status, stored.Location,
		stored.Body)
	s.Exec(t, `update pets set name = 'Luna'`)
	again, replayed, err := fixture.Once(t.Context(), s.Idempotency, s.A.ID, ask)
	assert.Result(t, replayed, err, true, "replayed")
	assert.DeepEqual(t, again, stored)
}

// TestOnceOverBrokenConnection: a connection is cut at each round trip of a request with a key,
// before Postgres gets it or after. Until COMMIT is sent, the request certainly was not made; from
// then on its outcome is unknown, and settled when the error is returned. A client that tries again
// gets the one animal.
func TestOnceOverBrokenConnection(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	const claim, commit = 2, 5
	for trip := claim; trip <= commit; trip++ {
		for _, how := range []fixture.Breakage{fixture.CutRequest, fixture.CutAnswer} {
			name := fmt.Sprintf("trip %d, %d", trip, how)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				proxy := fixture.NewBreakingProxy(t, s.APIURL)
				o := store.Options{AsAPI: true, MaxConns: 1, Timeout: fixture.ShortTimeout}
				db := storetest.Open(t, proxy.URL, o)
				asked := fixture.Adding(fixture.Request(name, name), name)
				prepare := fixture.Adding(fixture.Request(name+" prepares", name), name)
				_, _, err := fixture.Once(t.Context(), db.Idempotency, s.B.ID, prepare)
				assert.NoError(t, err)
				proxy.BreakAt(trip, how)
				began := time.Now()
				_, _, err = fixture.Once(t.Context(), db.Idempotency, s.A.ID, asked)
				took := time.Since(began)
				assert.True(t, proxy.Broke(), "it has fewer round trips")
				assert.ErrorIs(t, err, store.ErrUnavailable)
				assert.Equal(t, errors.Is(err, catalog.ErrNotMade), trip < commit, "not made")
				assert.Equal(t, took >= fixture.ShortTimeout, trip == commit, "waited for the deadline", took)
				made := trip == commit && how == fixture.CutAnswer
				var answer catalog.Answer
				var replayed bool
				wait.Until(t, "Postgres to end the session, and the lock with it", func() bool {
					answer, replayed, err = fixture.Once(t.Context(), s.Idempotency, s.A.ID, asked)
					return !errors.Is(err, catalog.ErrIdempotencyInProgress)
				})
				assert.Result(t, replayed, err, made, "replayed")
				wantOne(t, s, s.A.ID, name, answer)
			})
		}
	}
}

// A connection that prepared its statements when the table had just been vacuumed, empty, looks up
// keys by the primary key.
func TestStoredAnswersAreFoundByKey(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.Exec(t, `vacuum analyze`)
	db := storetest.Open(t, s.APIURL, store.Options{AsAPI: true, MaxConns: 1})
	ask := func(n int) {
		t.Helper()
		for i, asked := range fixture.Keyed(n) {
			_, _, err := fixture.Once(t.Context(), db.Idempotency, s.A.ID, asked)
			assert.NoError(t, err, i)
		}
	}
	ask(10)
	s.Exec(t, `insert into idempotency_keys
		select $1, 'POST', '/v1/pets', n::text, sha256(''), 201, '', '', now(), now() + interval '1 hour' from
			generate_series(1, 20000) n`, s.A.ID)
	read := func() int {
		var rows []int
		s.Rows(t, &rows, `select sum(idx_tup_read)::int from pg_stat_user_indexes where relname = 'idempotency_keys'`)
		return rows[0]
	}
	before := read()
	ask(50) // 10 are found, 40 are new.
	assert.NoError(t, db.Close())
	// A connection tells what it has read when it ends.
	for read() < before+10 {
		time.Sleep(10 * time.Millisecond) // between two looks
	}
	rows := read() - before
	assert.True(t, rows <= 1000, "for 50 keys", rows, "rows of 20,000 were read")
}
