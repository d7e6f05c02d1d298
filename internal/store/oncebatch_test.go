package store_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/catalog"
	"petstore.example/internal/fairqueue"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// Requests with keys that share a transaction get what each would get alone: a new animal, a stored answer, or an error of its own.
func TestCreatePetsOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.DB = s.server(t)
	ask := func(key, name string) petOnce { return adding(request(key, name), name) }
	stored, _, err := once(t.Context(), s.Idempotency, s.a.ID, ask("stored", "Old"))
	assert.NoError(t, err)
	expired := ask("expired", "Older")
	expired.Request.At = noon.AddDate(0, 0, -1)
	_, _, err = once(t.Context(), s.Idempotency, s.a.ID, expired)
	assert.NoError(t, err)
	s.lockScope(t, request("locked", "Kim"))
	s.lockScope(t, request("stored", "Old")) // as a replay does that has not ended
	type want struct {
		err      error
		replayed bool
	}
	asked := []petOnce{
		ask("stored", "Old"), ask("stored", "other"), ask("expired", "New"), ask("locked", "Kim"), ask("locked", "other"),
		ask("twice", "Rex"), ask("twice", "Rex"), ask("twice", "Luna"),
	}
	wants := []want{
		{nil, true}, {catalog.ErrIdempotencyKeyReused, false}, {nil, false}, {catalog.ErrIdempotencyInProgress, false},
		{catalog.ErrIdempotencyInProgress, false}, {nil, false}, {nil, true}, {catalog.ErrIdempotencyKeyReused, false},
	}
	for i := range 40 {
		asked, wants = append(asked, ask(fmt.Sprint(i), strings.Repeat(`"{},\ß`, i+1))), append(wants, want{nil, false})
	}
	outcomes := s.Idempotency.CreatePetsOnce(t.Context(), s.a.ID, asked)
	for i, o := range outcomes {
		if !errors.Is(o.Err, wants[i].err) || o.Result.Replayed != wants[i].replayed {
			t.Errorf("request %d: %+v, want %+v", i, o, wants[i])
		}
		if o.Err == nil {
			s.wantOne(t, s.a.ID, asked[i].New.Name, o.Result.Answer)
		}
	}
	assert.Equal(t, outcomes[0].Result.Location, stored.Location, "replayed", outcomes[0], stored)
	for i, o := range s.Idempotency.CreatePetsOnce(t.Context(), s.a.ID, asked[8:]) {
		if o.Err != nil || !o.Result.Replayed || o.Result.Location != outcomes[8+i].Result.Location {
			t.Errorf("again, request %d: %+v, want %+v", 8+i, o, outcomes[8+i])
		}
	}
	assert.Equal(t, len(s.pets(t, s.a.ID)), 2+1+1+40, "animals")
}

// lockScope holds the lock of a request of tenant A until the test ends, as a server does that works on it.
func (s shop) lockScope(t *testing.T, r catalog.Idempotency) {
	t.Helper()
	tx := s.owner.MustBegin()
	t.Cleanup(func() { _ = tx.Rollback() })
	scope := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", s.a.ID, r.Method, r.Path, r.Key))
	tx.MustExec(`select pg_advisory_xact_lock($1)`, int64(binary.BigEndian.Uint64(scope[:])))
}

// A request that Postgres refuses, or whose answer fails, keeps no other from its animal, and can be sent again.
func TestCreatePetsOnceWithBadOnes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	asked, broken := keyed(10), errors.New("broken")
	answer := asked[7].Answer
	asked[4].New.Status, asked[7].Answer = "lost", func(*catalog.Pet) (catalog.Answer, error) { return catalog.Answer{}, broken }
	for i, o := range s.Idempotency.CreatePetsOnce(t.Context(), s.a.ID, asked) {
		switch {
		case i == 4 && pq.As(o.Err, pqerror.CheckViolation) != nil, i == 7 && errors.Is(o.Err, broken):
			continue
		case i == 4, i == 7:
			t.Errorf("request %d: %+v, want its error", i, o)
			continue
		}
		if o.Err != nil || o.Result.Replayed {
			t.Errorf("request %d: %+v", i, o)
		}
		s.wantOne(t, s.a.ID, asked[i].New.Name, o.Result.Answer)
	}
	asked[4].New.Status, asked[7].Answer = catalog.Sold, answer
	for _, o := range s.Idempotency.CreatePetsOnce(t.Context(), s.a.ID, []petOnce{asked[4], asked[7]}) {
		if o.Err != nil || o.Result.Replayed {
			t.Errorf("corrected: %+v", o)
		}
	}
	assert.Equal(t, len(s.pets(t, s.a.ID)), len(asked), "animals")
}

// keyed returns that many requests, each with a key and an animal of its own.
func keyed(n int) []petOnce {
	asked := make([]petOnce, n)
	for i := range asked {
		name := fmt.Sprint("pet ", i)
		asked[i] = adding(request(name, name), name)
	}
	return asked
}

// A connection that is cut before or after any step of a transaction, and clients that all try again, make one animal for each.
func TestCreatePetsOnceOverBrokenConnection(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.DB = s.server(t)
	for _, how := range []breakage{cutRequest, cutAnswer} {
		for n := 1; n <= 6; n++ { // begin, lock, look, create, keep, commit
			proxy := newBreakingProxy(t, s.APIURL)
			db := storetest.Open(t, proxy.url, store.Options{AsAPI: true, MaxConns: 1})
			asked := keyed(5)
			for i := range asked {
				asked[i].New.Name = fmt.Sprint(asked[i].New.Name, " ", how, n)
				asked[i].Request.Key = asked[i].New.Name
			}
			db.Idempotency.CreatePetsOnce(t.Context(), s.b.ID, asked) // The statements are prepared.
			proxy.breakAt(n, how)
			for i, o := range db.Idempotency.CreatePetsOnce(t.Context(), s.a.ID, asked) {
				// A connection that is found broken at the first step is replaced.
				if !errors.Is(o.Err, store.ErrUnavailable) && (o.Err != nil || n > 1) {
					t.Errorf("%d %d, request %d: %+v, want ErrUnavailable", how, n, i, o)
				}
			}
			for i := range asked {
				for {
					a, _, err := once(t.Context(), s.Idempotency, s.a.ID, asked[i])
					if errors.Is(err, catalog.ErrIdempotencyInProgress) {
						continue // The lock ends with the connection.
					}
					assert.NoError(t, err)
					s.wantOne(t, s.a.ID, asked[i].New.Name, a)
					break
				}
			}
		}
	}
}

// A connection that prepared its statements when the table had just been vacuumed, empty, looks up keys by the primary key.
func TestStoredAnswersAreFoundByKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec(t, `vacuum analyze`)
	db := storetest.Open(t, s.APIURL, store.Options{AsAPI: true, MaxConns: 1})
	for i, asked := range keyed(10) {
		_, _, err := once(t.Context(), db.Idempotency, s.a.ID, asked)
		assert.NoError(t, err, i)
	}
	s.exec(t, `insert into idempotency_keys
		select $1, 'POST', '/v1/pets', n::text, sha256(''), 201, '', '', now(), now() + interval '1 hour' from generate_series(1, 20000) n`, s.a.ID)
	read := func() int {
		var rows []int
		s.rows(t, &rows, `select sum(idx_tup_read)::int from pg_stat_user_indexes where relname = 'idempotency_keys'`)
		return rows[0]
	}
	before := read()
	asked := slices.Concat(keyed(50)[10:], keyed(10)) // 40 are new, 10 are found.
	for _, o := range db.Idempotency.CreatePetsOnce(t.Context(), s.a.ID, asked) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	assert.NoError(t, db.Close())
	// A connection tells what it has read when it ends.
	for read() < before+10 {
		time.Sleep(10 * time.Millisecond) // between two looks
	}
	if rows := read() - before; rows > 1000 {
		t.Errorf("for 50 keys %d rows of 20,000 were read", rows)
	}
}

// Many clients that all try again until they are answered, by two servers: each key makes one animal, whatever shares a transaction.
func TestCreatesOnceAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.DB = s.server(t)
	servers := []*fairqueue.Store{s.sharing(t), s.sharing(t)}
	const clients, keys = 40, 30
	answers := make([][keys]catalog.Answer, clients)
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for n := range keys {
				name := fmt.Sprint("pet ", n)
				for {
					a, _, err := once(t.Context(), servers[client%2], s.a.ID, adding(request(name, name), name))
					if answers[client][n] = a; errors.Is(err, catalog.ErrIdempotencyInProgress) {
						continue
					}
					if err != nil {
						t.Error(err)
					}
					break
				}
			}
		})
	}
	all.Wait()
	for n := range keys {
		s.wantOne(t, s.a.ID, fmt.Sprint("pet ", n), answers[0][n])
		for client := range clients {
			assert.DeepEqual(t, answers[client][n], answers[0][n], "pet", n, "client", client)
		}
	}
}
