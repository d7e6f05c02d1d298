package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/fairqueue"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// An animal is added once or not at all, whatever happens to the connection, and nobody is told
// that it was.
func TestCreatePetOverBrokenConnection(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	rex := catalog.NewPet{Name: "Rex", Status: catalog.Available}
	for how, want := range map[fixture.Breakage]int{fixture.CutRequest: 0, fixture.CutAnswer: 1} {
		proxy := fixture.NewBreakingProxy(t, s.APIURL)
		db := storetest.Open(t, proxy.URL, store.Options{AsAPI: true, MaxConns: 1, Timeout: fixture.ShortTimeout})
		_, err := db.Pets.CreatePet(t.Context(), s.A.ID, rex) // The statement is prepared.
		assert.NoError(t, err)
		before := len(s.AllPets(t, s.A.ID))
		proxy.BreakAt(1, how)
		pet, err := db.Pets.CreatePet(t.Context(), s.A.ID, rex)
		assert.ErrorIs(t, err, store.ErrUnavailable, how)
		assert.Equal(t, pet.ID, 0, how, "the ID")
		assert.Equal(t, len(s.AllPets(t, s.A.ID))-before, want, how, "animals were added")
	}
}

// Animals that wait too long for a lock are not created when it is free.
func TestCreatePetsIsNotLate(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	db, err := store.Open(t.Context(), s.APIURL, store.Options{AsAPI: true}) // with the API's own time
	assert.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	holder := s.Owner.MustBegin()
	holder.MustExec(`select from tenants where id = $1 for update`, s.A.ID)
	start := time.Now()
	fixture.AtOnce(t, 10, 0, store.ErrUnavailable, func(i int) error {
		if i%2 == 0 {
			return fixture.ErrorOf(db.Idempotency.CreatePetOnce(t.Context(), s.A.ID, fixture.Keyed(10)[i]))
		}
		return fixture.ErrorOf(db.Pets.CreatePet(t.Context(), s.A.ID, fixture.Keyed(10)[i].New))
	})
	took := time.Since(start)
	wait.Bound(t, "creates behind a lock", took, 1500*time.Millisecond)
	assert.NoError(t, holder.Commit())
	// Behind whatever waits still.
	s.Exec(t, `begin; lock table pets in access exclusive mode; commit`)
	assert.Equal(t, len(s.AllPets(t, s.A.ID)), 0, "animals were added after all")
}

// queued returns the stores of a server, whose calls get their turn by tenant.
func queued(t *testing.T, s fixture.Shop) *fairqueue.Store {
	t.Helper()
	db := s.Server(t)
	return fairqueue.New(
		fairqueue.Stores{Pets: db.Pets, Orders: db.Orders, Requests: db.Idempotency},
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
	servers := []*fairqueue.Store{queued(t, s), queued(t, s)}
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
			assert.Result(t, p, err, catalog.Pet{ID: p.ID, NewPet: asked})
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

// Many clients that all try again until they are answered, by two servers: each key makes one
// animal, and all get its answer.
func TestCreatesOnceAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	servers := []*fairqueue.Store{queued(t, s), queued(t, s)}
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
