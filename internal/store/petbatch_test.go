package store_test

import (
	"context"
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

// litter returns that many animals, some of them alike and some with names that are hard to quote.
func litter(n int) []catalog.NewPet {
	names := []string{"Rex", "", `"`, `\`, `\"`, "{", "}", ",", "NULL", "null", "'", "a b", "\n\t", "ÄÖ漢🐕", strings.Repeat("ß", 255)}
	pets := make([]catalog.NewPet, n)
	for i := range pets {
		name := names[i%len(names)]
		if name == "" {
			name = fmt.Sprintf("pet %d", i)
		}
		pets[i] = catalog.NewPet{Name: name, CategoryID: int64(i%3 - 1), Status: []catalog.Status{catalog.Available, catalog.Sold}[i%2]}
	}
	return pets
}

// wantCreated checks that each animal was created, has an ID of its own, and is stored as it was asked for.
func (s shop) wantCreated(t *testing.T, tenantID int64, asked []catalog.NewPet, created []catalog.Outcome[catalog.Pet]) {
	t.Helper()
	stored, seen := map[int64]catalog.Pet{}, map[int64]bool{}
	for _, p := range s.pets(t, tenantID) {
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
	s := newShop(t)
	for _, n := range []int{1, 2, 64} {
		asked := litter(n)
		before := len(s.pets(t, s.a.ID))
		s.wantCreated(t, s.a.ID, asked, s.Pets.CreatePets(t.Context(), s.a.ID, asked))
		assert.Equal(t, len(s.pets(t, s.a.ID))-before, n, "animals were added")
	}
	if pets := s.pets(t, s.b.ID); len(pets) != 0 {
		t.Errorf("of the other tenant: %v", pets)
	}
}

// An animal that Postgres refuses keeps no other from being created, and none is created twice.
func TestCreatePetsWithABadOne(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	asked := litter(20)
	asked[7].Status = "lost"
	created := s.Pets.CreatePets(t.Context(), s.a.ID, asked)
	if pq.As(created[7].Err, pqerror.CheckViolation) == nil {
		t.Errorf("the bad one: %+v, want a violation", created[7])
	}
	asked, created = slices.Delete(asked, 7, 8), slices.Delete(created, 7, 8)
	s.wantCreated(t, s.a.ID, asked, created)
	if pets := s.pets(t, s.a.ID); len(pets) != len(asked) {
		t.Errorf("%d animals, want %d", len(pets), len(asked))
	}
	for i, c := range s.Pets.CreatePets(t.Context(), 1<<40, litter(3)) {
		if pq.As(c.Err, pqerror.ForeignKeyViolation) == nil {
			t.Errorf("animal %d of no tenant: %+v, want a violation", i, c)
		}
	}
}

// The animals are added once or not at all, whatever happens to the connection, and nobody is told that they were.
func TestCreatePetsOverBrokenConnection(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	asked := litter(10)
	for how, want := range map[breakage]int{cutRequest: 0, cutAnswer: len(asked)} {
		proxy := newBreakingProxy(t, s.APIURL)
		db := storetest.Open(t, proxy.url, store.Options{AsAPI: true, MaxConns: 1})
		db.Pets.CreatePets(t.Context(), s.a.ID, asked) // The statement is prepared.
		before := len(s.pets(t, s.a.ID))
		proxy.breakAt(1, how)
		for i, c := range db.Pets.CreatePets(t.Context(), s.a.ID, asked) {
			if !errors.Is(c.Err, store.ErrUnavailable) || c.Result.ID != 0 {
				t.Errorf("%d, animal %d: %+v, want ErrUnavailable", how, i, c)
			}
		}
		assert.Equal(t, len(s.pets(t, s.a.ID))-before, want, how, "animals were added")
	}
}

// Animals that wait too long for a lock are not created when it is free, nor tried alone.
func TestCreatePetsIsNotLate(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	holder := s.owner.MustBegin()
	holder.MustExec(`select from tenants where id = $1 for update`, s.a.ID)
	start := time.Now()
	for i, c := range s.Pets.CreatePets(t.Context(), s.a.ID, litter(10)) {
		assert.ErrorIs(t, c.Err, store.ErrUnavailable, "animal", i, c)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v, want a second", took)
	}
	assert.NoError(t, holder.Commit())
	// Behind whatever waits still.
	s.exec(t, `begin; lock table pets in access exclusive mode; commit`)
	if pets := s.pets(t, s.a.ID); len(pets) != 0 {
		t.Errorf("added after all: %v", pets)
	}
}

// sharing returns the stores of a server, whose creates share calls.
func (s shop) sharing(t *testing.T) *fairqueue.Store {
	t.Helper()
	db := s.server(t)
	return fairqueue.New(fairqueue.Stores{Pets: db.Pets, Orders: db.Orders, Requests: db.Idempotency, Usage: db.Usage},
		fairqueue.Options{Slots: 14, PerTenant: 10, Timeout: longTimeout})
}

// Many creates at the same time, by two servers and of two tenants, of which one is locked for a time: each that succeeds gets an animal of its
// own, with the name that it asked for, and there are no others.
func TestCreatesAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.DB = s.server(t)
	servers := []*fairqueue.Store{s.sharing(t), s.sharing(t)}
	const clients, each = 40, 10
	holder := s.owner.MustBegin()
	holder.MustExec(`select from tenants where id = $1 for update`, s.b.ID)
	var all, others sync.WaitGroup
	created := map[int64][]catalog.Pet{}
	var mu sync.Mutex
	add := func(ctx context.Context, tenantID int64, client int) {
		for n := range each {
			asked := catalog.NewPet{Name: fmt.Sprintf("%d of %d", n, client), CategoryID: tenantID, Status: catalog.Sold}
			p, err := servers[client%2].CreatePet(ctx, tenantID, asked)
			if want := (catalog.Pet{ID: p.ID, NewPet: catalog.NewPet{Name: asked.Name, CategoryID: tenantID, Status: catalog.Sold}}); err != nil || p != want {
				t.Errorf("%+v, %v, want %+v", p, err, want)
			}
			mu.Lock()
			created[tenantID] = append(created[tenantID], p)
			mu.Unlock()
		}
	}
	for client := range clients {
		all.Go(func() { add(t.Context(), s.b.ID, client) })
		others.Go(func() { add(t.Context(), s.a.ID, client) })
	}
	others.Wait() // although the other tenant is locked
	assert.NoError(t, holder.Commit())
	all.Wait()
	for _, tenantID := range []int64{s.a.ID, s.b.ID} {
		byID := func(a, b catalog.Pet) int { return int(a.ID - b.ID) }
		slices.SortFunc(created[tenantID], byID)
		if stored := s.pets(t, tenantID); len(stored) != clients*each || !slices.Equal(stored, created[tenantID]) {
			t.Errorf("tenant %d: %d animals are stored and %d were created, or they differ", tenantID, len(stored), len(created[tenantID]))
		}
	}
}
