package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"petstore.example/bench/must"
	"petstore.example/internal/catalog"
	"petstore.example/internal/fairqueue"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/people"
)

const (
	// busyClients are those of the other tenant.
	busyClients = 200
	// maxBeside bounds the latency beside them as a multiple of that alone, and of that apart.
	maxBeside = 2
	// fairnessTurns is how often each way is measured, for fairnessTime.
	fairnessTurns, fairnessTime = 5, 2 * time.Second
	animalsEach                 = 1000
)

// write is a request that changes something, and returns how long that took.
type write func(ctx context.Context, s *fairqueue.Store, tenantID int64) time.Duration

var writes = []struct {
	name string
	write
}{
	{"create", func(ctx context.Context, s *fairqueue.Store, tenantID int64) time.Duration {
		return timed(func() (catalog.Pet, error) { return s.CreatePet(ctx, tenantID, rex) })
	}},
	{"create with a key", func(ctx context.Context, s *fairqueue.Store, tenantID int64) time.Duration {
		return timed(func() (catalog.Answered, error) {
			return s.CreatePetOnce(ctx, tenantID, catalog.Once[catalog.NewPet, catalog.Pet]{
				Request: catalog.Idempotency{
					Method: "POST",
					Path:   "/v1/pets",
					Key:    fmt.Sprint(rand.Uint64()),
					At:     time.Now(),
				},
				New: rex,
				Answer: func(p *catalog.Pet) (catalog.Answer, error) {
					return catalog.Answer{
						Status:   201,
						Location: fmt.Sprint("/v1/pets/", p.ID),
						Body:     fmt.Appendf(nil, `{"id":%d,"name":"Rex"}`, p.ID),
					}, nil
				},
			})
		})
	}},
	{"change", func(ctx context.Context, s *fairqueue.Store, tenantID int64) time.Duration {
		id := (tenantID-1)*animalsEach + 1 + rand.Int64N(animalsEach)
		return timed(func() (catalog.Pet, error) {
			return s.ChangePet(ctx, tenantID, id, catalog.PetPatch{Name: new("Luna")})
		})
	}},
	{"order", func(ctx context.Context, s *fairqueue.Store, tenantID int64) time.Duration {
		pet := must.Get(s.CreatePet(ctx, tenantID, rex))
		return timed(func() (catalog.Order, error) {
			return s.PlaceOrder(ctx, tenantID, catalog.NewOrder{PetID: pet.ID, Quantity: 1})
		})
	}},
}

var rex = catalog.NewPet{Name: "Rex", CategoryID: 1, Status: catalog.Available}

func timed[T any](call func() (T, error)) time.Duration {
	start := time.Now()
	must.Get(call())
	return time.Since(start)
}

//nolint:funlen // a list of what is measured
func fairness(ctx context.Context, e *env) *table {
	t := &table{
		title: "One client beside many of another tenant",
		about: fmt.Sprintf(
			"Writes of a tenant with one client, alone and beside %d clients of another tenant, which send the same "+
				"without a pause. "+
				"In process: the fair queue and its connections, over a real Postgres. %d turns of %v each way. "+
				"Postgres, the server and the clients share the processors: "+
				"“apart”, the others have a queue and connections of their own, so what is more beside than apart "+
				"is the queue's part.",
			busyClients,
			fairnessTurns,
			fairnessTime,
		),
		head: []string{
			"request",
			"alone: median ms",
			"99th percentile",
			"apart: median ms",
			"99th percentile",
			"beside: median ms",
			"99th percentile",
			"the others, 1/s",
		},
	}
	url := e.database(ctx, "fairness", 2)
	staff := must.Get(store.Open(ctx, url, store.Options{MaxConns: 1}))
	defer staff.Close()
	open := func() (*store.DB, *fairqueue.Store) {
		db := must.Get(store.Open(ctx, url, store.Options{AsAPI: true, MaxConns: 16, Timeout: time.Minute}))
		return db, fairqueue.New(fairqueue.Stores{Pets: db.Pets, Orders: db.Orders, Requests: db.Idempotency},
			fairqueue.Options{Slots: 14, PerTenant: 10, Timeout: time.Minute})
	}
	db, s := open()
	defer db.Close()
	theirs, own := open()
	defer theirs.Close()
	for i := range int64(2) {
		tenant := must.Get(
			staff.Tenants.Create(
				ctx,
				by,
				people.NewTenant{Name: fmt.Sprint("tenant-", i), Plan: plans.Free},
				time.Time{},
			),
		)
		if tenant.ID != i+1 {
			must.Do(fmt.Errorf("tenant %d has the ID %d", i+1, tenant.ID))
		}
		for _, o := range db.Pets.CreatePets(ctx, tenant.ID, slices.Repeat([]catalog.NewPet{rex}, animalsEach)) {
			must.Do(o.Err)
		}
	}
	for _, w := range writes {
		var single, apart, beside []time.Duration
		others := 0
		measure := func(all *[]time.Duration) {
			*all = append(*all, repeat(fairnessTime/e.hurry, func() time.Duration { return w.write(ctx, s, 1) })...)
			slices.Sort(*all)
		}
		for range fairnessTurns {
			measure(&single)
			stop := startClients(func() { w.write(ctx, own, 2) })
			measure(&apart)
			stop()
			stop = startClients(func() { w.write(ctx, s, 2) })
			measure(&beside)
			others += stop()
		}
		t.add(
			w.name,
			inMillis(single, 50),
			inMillis(single, 99),
			inMillis(apart, 50),
			inMillis(apart, 99),
			inMillis(beside, 50),
			inMillis(beside, 99),
			significant(float64(others)/(fairnessTurns*fairnessTime/e.hurry).Seconds()),
		)
		t.bound(
			w.name+", 99th percentile beside divided by alone",
			float64(percentile(beside, 99))/float64(percentile(single, 99)),
			maxBeside,
		)
		t.bound(
			w.name+", 99th percentile beside divided by apart",
			float64(percentile(beside, 99))/float64(percentile(apart, 99)),
			maxBeside,
		)
	}
	return t
}

// repeat makes calls one after the other for that long.
func repeat(d time.Duration, call func() time.Duration) (took []time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		took = append(took, call())
	}
	return took
}

// startClients has busyClients clients make calls until stop, which returns how many they made.
func startClients(call func()) (stop func() int) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	counts := make([]int, busyClients)
	for i := range counts {
		all.Go(func() {
			for ; ctx.Err() == nil; counts[i]++ {
				call()
			}
		})
	}
	return func() (made int) {
		cancel()
		all.Wait()
		for _, n := range counts {
			made += n
		}
		return made
	}
}

func percentile(sorted []time.Duration, p int) time.Duration { return sorted[(len(sorted)-1)*p/100] }

func inMillis(sorted []time.Duration, p int) string {
	return significant(percentile(sorted, p).Seconds() * 1000)
}
