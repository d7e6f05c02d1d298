package catalogue_test

import (
	"context"
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
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// wantCreated checks that each animal was created, has an ID of its own, and is stored as it was
// asked for.
func wantCreated(
	t *testing.T, s fixture.Shop,
	tenantID int64,
	asked []catalog.NewPet,
	created []catalog.Outcome[catalog.Pet],
) {
	t.Helper()
	stored, seen := map[int64]catalog.Pet{}, map[int64]bool{}
	for _, p := range s.AllPets(t, tenantID) {
		stored[p.ID] = p
	}
	for i, c := range created {
		want := catalog.Pet{ID: c.Result.ID, NewPet: asked[i]}
		if c.Err != nil || c.Result != want || stored[c.Result.ID] != want || seen[c.Result.ID] {
			t.Errorf("animal %d: %+v, stored %+v, want %+v", i, c, stored[c.Result.ID], want)
		}
		seen[c.Result.ID] = true
	}
}

func TestCreatePets(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	for _, n := range []int{1, 2, 64} {
		asked := fixture.Litter(n)
		before := len(s.AllPets(t, s.A.ID))
		wantCreated(t, s, s.A.ID, asked, s.Pets.CreatePets(t.Context(), s.A.ID, asked))
		assert.Equal(t, len(s.AllPets(t, s.A.ID))-before, n, "animals were added")
	}
	pets := s.AllPets(t, s.B.ID)
	assert.Equal(t, len(pets), 0, "of the other tenant", pets)
}

// An animal that Postgres refuses keeps no other from being created, and none is created twice.
func TestCreatePetsWithABadOne(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	asked := fixture.Litter(20)
	asked[7].Status = "lost"
	created := s.Pets.CreatePets(t.Context(), s.A.ID, asked)
	if pq.As(created[7].Err, pqerror.CheckViolation) == nil {
		t.Errorf("the bad one: %+v, want a violation", created[7])
	}
	asked, created = slices.Delete(asked, 7, 8), slices.Delete(created, 7, 8)
	wantCreated(t, s, s.A.ID, asked, created)
	pets := s.AllPets(t, s.A.ID)
	assert.Equal(t, len(pets), len(asked), "animals")
	for i, c := range s.Pets.CreatePets(t.Context(), 1<<40, fixture.Litter(3)) {
		if pq.As(c.Err, pqerror.ForeignKeyViolation) == nil {
			t.Errorf("animal %d of no tenant: %+v, want a violation", i, c)
		}
	}
}

// The animals are added once or not at all, whatever happens to the connection, and nobody is told
// that they were.
func TestCreatePetsOverBrokenConnection(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	asked := fixture.Litter(10)
	for how, want := range map[fixture.Breakage]int{fixture.CutRequest: 0, fixture.CutAnswer: len(asked)} {
		proxy := fixture.NewBreakingProxy(t, s.APIURL)
		db := storetest.Open(t, proxy.URL, store.Options{AsAPI: true, MaxConns: 1, Timeout: fixture.ShortTimeout})
		db.Pets.CreatePets(t.Context(), s.A.ID, asked) // The statement is prepared.
		before := len(s.AllPets(t, s.A.ID))
		proxy.BreakAt(1, how)
		for i, c := range db.Pets.CreatePets(t.Context(), s.A.ID, asked) {
			if !errors.Is(c.Err, store.ErrUnavailable) || c.Result.ID != 0 {
				t.Errorf("%d, animal %d: %+v, want ErrUnavailable", how, i, c)
			}
		}
		assert.Equal(t, len(s.AllPets(t, s.A.ID))-before, want, how, "animals were added")
	}
}

// Animals that wait too long for a lock are not created when it is free, nor tried alone.
func TestCreatePetsIsNotLate(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	db, err := store.Open(t.Context(), s.APIURL, store.Options{AsAPI: true}) // with the API's own time
	assert.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	holder := s.Owner.MustBegin()
	holder.MustExec(`select from tenants where id = $1 for update`, s.A.ID)
	start := time.Now()
	for i, c := range db.Pets.CreatePets(t.Context(), s.A.ID, fixture.Litter(10)) {
		assert.ErrorIs(t, c.Err, store.ErrUnavailable, "animal", i, c)
	}
	took := time.Since(start)
	wait.Bound(t, "a batch behind a lock", took, 1500*time.Millisecond)
	assert.NoError(t, holder.Commit())
	// Behind whatever waits still.
	s.Exec(t, `begin; lock table pets in access exclusive mode; commit`)
	assert.Equal(t, len(s.AllPets(t, s.A.ID)), 0, "animals were added after all")
}

// sharing returns the stores of a server, whose creates share calls.
func sharing(t *testing.T, s fixture.Shop) *fairqueue.Store {
	t.Helper()
	db := s.Server(t)
	return fairqueue.New(
		fairqueue.Stores{
			Pets:     db.Pets,
			Orders:   db.Orders,
			Requests: db.Idempotency,
			Usage:    db.Usage,
			Failed:   db.FailedRequests,
		},
		fairqueue.Options{Slots: 14, PerTenant: 10, Timeout: fixture.LongTimeout},
	)
}

// Many creates at the same time, by two servers and of two tenants, of which one is locked for a
// time: each that succeeds gets an animal of its own, with the name that it asked for, and there
// are no others.
func TestCreatesAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	servers := []*fairqueue.Store{sharing(t, s), sharing(t, s)}
	const clients, each = 40, 10
	holder := s.Owner.MustBegin()
	holder.MustExec(`select from tenants where id = $1 for update`, s.B.ID)
	var all, others sync.WaitGroup
	created := map[int64][]catalog.Pet{}
	var mu sync.Mutex
	add := func(ctx context.Context, tenantID int64, client int) {
		for n := range each {
			asked := catalog.NewPet{
				Name:       fmt.Sprintf("%d of %d", n, client),
				CategoryID: tenantID,
				Status:     catalog.Sold,
			}
			p, err := servers[client%2].CreatePet(ctx, tenantID, asked)
			if want := (catalog.Pet{ID: p.ID,
				NewPet: catalog.NewPet{Name: asked.Name, CategoryID: tenantID, Status: catalog.Sold}}); err != nil ||
				p != want {
				t.Errorf("%+v, %v, want %+v", p, err, want)
			}
			mu.Lock()
			created[tenantID] = append(created[tenantID], p)
			mu.Unlock()
		}
	}
	for client := range clients {
		all.Go(func() { add(t.Context(), s.B.ID, client) })
		others.Go(func() { add(t.Context(), s.A.ID, client) })
	}
	others.Wait() // although the other tenant is locked
	assert.NoError(t, holder.Commit())
	all.Wait()
	for _, tenantID := range []int64{s.A.ID, s.B.ID} {
		byID := func(a, b catalog.Pet) int { return int(a.ID - b.ID) }
		slices.SortFunc(created[tenantID], byID)
		if stored := s.AllPets(t, tenantID); len(stored) != clients*each || !slices.Equal(stored, created[tenantID]) {
			t.Errorf(
				"tenant %d: %d animals are stored and %d were created, or they differ",
				tenantID,
				len(stored),
				len(created[tenantID]),
			)
		}
	}
}

// Requests with keys that share a transaction get what each would get alone: a new animal, a stored
// answer, or an error of its own.
func TestCreatePetsOnce(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	ask := func(key, name string) fixture.PetOnce { return fixture.Adding(fixture.Request(key, name), name) }
	stored, _, err := fixture.Once(t.Context(), s.Idempotency, s.A.ID, ask("stored", "Old"))
	assert.NoError(t, err)
	expired := ask("expired", "Older")
	expired.Request.At = fixture.Noon.AddDate(0, 0, -1)
	_, _, err = fixture.Once(t.Context(), s.Idempotency, s.A.ID, expired)
	assert.NoError(t, err)
	lockScope(t, s, fixture.Request("locked", "Kim"))
	lockScope(t, s, fixture.Request("stored", "Old")) // as a replay does that has not ended
	type want struct {
		err      error
		replayed bool
	}
	asked := []fixture.PetOnce{
		ask(
			"stored",
			"Old",
		),
		ask("stored", "other"),
		ask("expired", "New"),
		ask("locked", "Kim"),
		ask("locked", "other"),
		ask("twice", "Rex"),
		ask("twice", "Rex"),
		ask("twice", "Luna"),
	}
	wants := []want{
		{nil, true}, {catalog.ErrIdempotencyKeyReused, false}, {nil, false}, {catalog.ErrIdempotencyInProgress, false},
		{catalog.ErrIdempotencyInProgress, false}, {nil, false}, {nil, true}, {catalog.ErrIdempotencyKeyReused, false},
	}
	for i := range 40 {
		asked, wants = append(asked, ask(fmt.Sprint(i), strings.Repeat(`"{},\ß`, i+1))), append(wants, want{nil, false})
	}
	outcomes := s.Idempotency.CreatePetsOnce(t.Context(), s.A.ID, asked)
	for i, o := range outcomes {
		if !errors.Is(o.Err, wants[i].err) || o.Result.Replayed != wants[i].replayed {
			t.Errorf("request %d: %+v, want %+v", i, o, wants[i])
		}
		if o.Err == nil {
			wantOne(t, s, s.A.ID, asked[i].New.Name, o.Result.Answer)
		}
	}
	assert.Equal(t, outcomes[0].Result.Location, stored.Location, "replayed", outcomes[0], stored)
	for i, o := range s.Idempotency.CreatePetsOnce(t.Context(), s.A.ID, asked[8:]) {
		if o.Err != nil || !o.Result.Replayed || o.Result.Location != outcomes[8+i].Result.Location {
			t.Errorf("again, request %d: %+v, want %+v", 8+i, o, outcomes[8+i])
		}
	}
	assert.Equal(t, len(s.AllPets(t, s.A.ID)), 2+1+1+40, "animals")
}

// lockScope holds the lock of a request of tenant A until the test ends, as a server does that
// works on it.
func lockScope(t *testing.T, s fixture.Shop, r catalog.Idempotency) {
	t.Helper()
	tx := s.Owner.MustBegin()
	t.Cleanup(func() { _ = tx.Rollback() })
	scope := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", s.A.ID, r.Method, r.Path, r.Key))
	tx.MustExec(`select pg_advisory_xact_lock($1)`, int64(binary.BigEndian.Uint64(scope[:])))
}

// A request that Postgres refuses, or whose answer fails, keeps no other from its animal, and can
// be sent again.
func TestCreatePetsOnceWithBadOnes(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	asked, broken := fixture.Keyed(10), errors.New("broken")
	answer := asked[9].Answer
	asked[4].New.Status, asked[9].Answer = "lost",
		func(*catalog.Pet) (catalog.Answer, error) { return catalog.Answer{}, broken }
	// without the one that Postgres refuses
	for i, o := range s.Idempotency.CreatePetsOnce(t.Context(), s.B.ID, asked[5:]) {
		assert.True(t, errors.Is(o.Err, broken) == (i == 4) && (i == 4 || o.Result.Status == 201), "request", i, o)
	}
	for i, o := range s.Idempotency.CreatePetsOnce(t.Context(), s.A.ID, asked) {
		switch {
		case i == 4 && pq.As(o.Err, pqerror.CheckViolation) != nil, i == 9 && errors.Is(o.Err, broken):
			continue
		case i == 4, i == 9:
			t.Errorf("request %d: %+v, want its error", i, o)
			continue
		}
		if o.Err != nil || o.Result.Replayed {
			t.Errorf("request %d: %+v", i, o)
		}
		wantOne(t, s, s.A.ID, asked[i].New.Name, o.Result.Answer)
	}
	asked[4].New.Status, asked[9].Answer = catalog.Sold, answer
	for _, o := range s.Idempotency.CreatePetsOnce(t.Context(), s.A.ID, []fixture.PetOnce{asked[4], asked[9]}) {
		if o.Err != nil || o.Result.Replayed {
			t.Errorf("corrected: %+v", o)
		}
	}
	assert.Equal(t, len(s.AllPets(t, s.A.ID)), len(asked), "animals")
}

// A connection that is cut before or after the statement, and clients that all try again, make one
// animal for each.
func TestCreatePetsOnceOverBrokenConnection(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	for how, made := range map[fixture.Breakage]int{fixture.CutRequest: 0, fixture.CutAnswer: 5} {
		proxy := fixture.NewBreakingProxy(t, s.APIURL)
		db := storetest.Open(t, proxy.URL, store.Options{AsAPI: true, MaxConns: 1, Timeout: fixture.ShortTimeout})
		asked := fixture.Keyed(5)
		for i := range asked {
			asked[i].New.Name = fmt.Sprint(asked[i].New.Name, " ", how)
			asked[i].Request.Key = asked[i].New.Name
		}
		db.Idempotency.CreatePetsOnce(t.Context(), s.B.ID, asked) // The statement is prepared.
		before := len(s.AllPets(t, s.A.ID))
		proxy.BreakAt(1, how)
		for i, o := range db.Idempotency.CreatePetsOnce(t.Context(), s.A.ID, asked) {
			assert.ErrorIs(t, o.Err, store.ErrUnavailable, how, "request", i)
		}
		assert.Equal(t, len(s.AllPets(t, s.A.ID)), before+made, how, "animals")
		for i, o := range s.Idempotency.CreatePetsOnce(t.Context(), s.A.ID, asked) {
			assert.Result(t, o.Result.Replayed, o.Err, made > 0, how, "request", i)
			wantOne(t, s, s.A.ID, asked[i].New.Name, o.Result.Answer)
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
	for i, asked := range fixture.Keyed(10) {
		_, _, err := fixture.Once(t.Context(), db.Idempotency, s.A.ID, asked)
		assert.NoError(t, err, i)
	}
	s.Exec(t, `insert into idempotency_keys
		select $1, 'POST', '/v1/pets', n::text, sha256(''), 201, '', '', now(), now() + interval '1 hour' from
			generate_series(1, 20000) n`, s.A.ID)
	read := func() int {
		var rows []int
		s.Rows(t, &rows, `select sum(idx_tup_read)::int from pg_stat_user_indexes where relname = 'idempotency_keys'`)
		return rows[0]
	}
	before := read()
	asked := slices.Concat(fixture.Keyed(50)[10:], fixture.Keyed(10)) // 40 are new, 10 are found.
	for _, o := range db.Idempotency.CreatePetsOnce(t.Context(), s.A.ID, asked) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	assert.NoError(t, db.Close())
	// A connection tells what it has read when it ends.
	for read() < before+10 {
		time.Sleep(10 * time.Millisecond) // between two looks
	}
	rows := read() - before
	assert.True(t, rows <= 1000, "for 50 keys", rows, "rows of 20,000 were read")
}

// Many clients that all try again until they are answered, by two servers: each key makes one
// animal, whatever shares a transaction.
func TestCreatesOnceAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	servers := []*fairqueue.Store{sharing(t, s), sharing(t, s)}
	const clients, keys = 40, 30
	answers := make([][keys]catalog.Answer, clients)
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for n := range keys {
				name := fmt.Sprint("pet ", n)
				for {
					a, _, err := fixture.Once(
						t.Context(),
						servers[client%2],
						s.A.ID,
						fixture.Adding(fixture.Request(name, name), name),
					)
					if answers[client][n] = a; errors.Is(err, catalog.ErrIdempotencyInProgress) {
						continue
					}
					assert.Equal(t, err, nil)
					break
				}
			}
		})
	}
	all.Wait()
	for n := range keys {
		wantOne(t, s, s.A.ID, fmt.Sprint("pet ", n), answers[0][n])
		for client := range clients {
			assert.DeepEqual(t, answers[client][n], answers[0][n], "pet", n, "client", client)
		}
	}
}
