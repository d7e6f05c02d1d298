package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/catalog"
	"petstore.example/internal/fairqueue"
)

// Requests with keys that share a transaction get what each would get alone: a new animal, a stored answer, or an error of its own.
func TestCreatePetsOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.DB = s.server(t)
	other := s.server(t)
	stored, _, err := once(t.Context(), s.Idempotency, s.a.ID, adding(request("stored", "Old"), "Old"))
	if err != nil {
		t.Fatal(err)
	}
	expired := adding(request("expired", "Old"), "Older")
	expired.Request.At = noon.AddDate(0, 0, -1)
	if _, _, err := once(t.Context(), s.Idempotency, s.a.ID, expired); err != nil {
		t.Fatal(err)
	}

	meanwhile := adding(request("meanwhile", "Kim"), "Kim")
	answer := meanwhile.Answer
	meanwhile.Answer = func(p *catalog.Pet) (catalog.Answer, error) {
		asked := []petOnce{
			adding(request("stored", "Old"), "Old"), adding(request("meanwhile", "Kim"), "Kim"), adding(request("stored", "other"), "other"),
			adding(request("twice", "Rex"), "Rex"), adding(request("twice", "Rex"), "Rex"), adding(request("expired", "New"), "New"),
		}
		for i := range 40 {
			asked = append(asked, adding(request(fmt.Sprint(i), ""), strings.Repeat(`"{},\ß`, i+1)))
		}
		want := []error{nil, catalog.ErrIdempotencyInProgress, catalog.ErrIdempotencyKeyReused, nil, catalog.ErrIdempotencyInProgress}
		outcomes := other.Idempotency.CreatePetsOnce(t.Context(), s.a.ID, asked)
		for i, o := range outcomes {
			if i < len(want) && want[i] != nil {
				if !errors.Is(o.Err, want[i]) {
					t.Errorf("request %d: %+v, want %v", i, o, want[i])
				}
				continue
			}
			if o.Err != nil || o.Result.Replayed != (i == 0) {
				t.Errorf("request %d: %+v", i, o)
			}
			s.wantOne(t, s.a.ID, asked[i].New.Name, o.Result.Answer)
		}
		if outcomes[0].Result.Location != stored.Location {
			t.Errorf("replayed %+v, want %+v", outcomes[0], stored)
		}
		for i, o := range other.Idempotency.CreatePetsOnce(t.Context(), s.a.ID, asked[5:]) {
			if o.Err != nil || !o.Result.Replayed || o.Result.Location != outcomes[5+i].Result.Location {
				t.Errorf("again, request %d: %+v, want %+v", 5+i, o, outcomes[5+i])
			}
		}
		return answer(p)
	}
	if _, _, err := once(t.Context(), s.Idempotency, s.a.ID, meanwhile); err != nil {
		t.Fatal(err)
	}
	if n := len(s.pets(t, s.a.ID)); n != 2+1+1+1+40 {
		t.Errorf("%d animals, want 45", n)
	}
}

// A request that Postgres refuses keeps no other from its animal, and can be sent again.
func TestCreatePetsOnceWithABadOne(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var asked []petOnce
	for i := range 10 {
		asked = append(asked, adding(request(fmt.Sprint(i), ""), fmt.Sprint("pet ", i)))
	}
	asked[4].New.Status = "lost"
	for i, o := range s.Idempotency.CreatePetsOnce(t.Context(), s.a.ID, asked) {
		if i == 4 {
			if pq.As(o.Err, pqerror.CheckViolation) == nil {
				t.Errorf("the bad one: %+v, want a violation", o)
			}
			continue
		}
		if o.Err != nil || o.Result.Replayed {
			t.Errorf("request %d: %+v", i, o)
		}
		s.wantOne(t, s.a.ID, asked[i].New.Name, o.Result.Answer)
	}
	asked[4].New.Status = catalog.Sold
	if _, replayed, err := once(t.Context(), s.Idempotency, s.a.ID, asked[4]); err != nil || replayed {
		t.Errorf("corrected: replayed %v, %v", replayed, err)
	}
}

// Many clients that all try again until they are answered, by two servers: each key makes one animal, whatever shares a transaction.
func TestCreatesOnceAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.DB = s.server(t)
	servers := make([]*fairqueue.Store, 2)
	for i := range servers {
		db := s.server(t)
		servers[i] = fairqueue.New(fairqueue.Stores{Pets: db.Pets, Orders: db.Orders, Requests: db.Idempotency, Usage: db.Usage},
			fairqueue.Options{Slots: 14, PerTenant: 10, Timeout: longTimeout})
	}
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
		name := fmt.Sprint("pet ", n)
		for client := range clients {
			s.wantOne(t, s.a.ID, name, answers[client][n])
		}
	}
}
