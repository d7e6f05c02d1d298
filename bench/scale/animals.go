package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	_ "github.com/lib/pq" // the driver "postgres"

	"petstore.example/bench/must"
	"petstore.example/bench/servers"
	"petstore.example/internal/audit"
	"petstore.example/internal/catalog"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/people"
)

const (
	pageLimit = 20
	// maxGrowth bounds the latency of the largest catalogue as a multiple of the smallest's.
	maxGrowth = 1.3
)

// On its first access to a page of the buffers a connection has a page fault of some 3 µs, which a
// server's long-lived connections do not: so it is used for several rounds.
var animalRounds = rounds{count: 21, perConnection: 7, warmUp: 20, operations: 300}

var by = audit.By{Actor: "bench", Reason: "benchmark"}

// pages are the kinds of pages that are measured. n is the number of animals; their IDs are 1 to n.
var pages = []struct {
	name string
	page func(n int64) catalog.Page
}{
	{"first page µs", func(int64) catalog.Page { return catalog.Page{} }},
	{"deep page µs", func(n int64) catalog.Page { return catalog.Page{After: deep(n)} }},
	{"by status µs", func(int64) catalog.Page { return catalog.Page{Status: catalog.Sold} }},
	{"by status, deep µs", func(n int64) catalog.Page { return catalog.Page{Status: catalog.Sold, After: deep(n)} }},
	{
		"by category, deep µs",
		func(n int64) catalog.Page { return catalog.Page{CategoryID: new(int64(3)), After: deep(n)} },
	},
	{"by IDs µs", func(n int64) catalog.Page { return catalog.Page{IDs: someIDs(n)} }},
	// As many animals as a page has begin with the name, however many there are.
	{"by name µs", func(n int64) catalog.Page {
		return catalog.Page{NamePrefix: fmt.Sprintf("Animal %07d", rand.Int64N(n/pageLimit))}
	}},
}

// deep is a random position in the second half, early enough for a page of any status to be full.
func deep(n int64) int64 { return n/2 + rand.Int64N(n*3/10) }

// someIDs are those of pageLimit animals, far from each other.
func someIDs(n int64) (ids []int64) {
	first := 1 + rand.Int64N(n/pageLimit)
	for i := range int64(pageLimit) {
		ids = append(ids, first+i*(n/pageLimit))
	}
	return ids
}

func animals(ctx context.Context, e *env) *table {
	t := &table{
		title: "Animals of one tenant",
		about: "A list of 20 animals, from the call of `store.Pets.ListPets` to the last row read: with row-level " +
			"security, a prepared statement, and a Unix socket. " +
			"*Deep* is a random position in the second half. One animal in 5 is sold, and *by status* lists those; " +
			"of the 7 categories *by category* lists one. *By IDs* lists 20 animals, and *by name* those 20 or 19 " +
			"whose name begins with the same text. Every size has a database of its own. " +
			fmt.Sprintf(
				"The figures are medians of %d rounds of %d queries. Each round measures the sizes in a new order; "+
					"connections are replaced every %d rounds.",
				animalRounds.count,
				animalRounds.operations,
				animalRounds.perConnection,
			),
		head: []string{"animals", "table and indexes MB"},
	}
	var all []*sample
	for _, n := range e.upTo(1_000, 10_000, 100_000, 1_000_000, 10_000_000) {
		all = append(all, newCatalogue(ctx, e, n))
	}
	animalRounds.measure(all)
	for _, p := range pages {
		t.head = append(t.head, p.name)
	}
	t.addSamples(all, time.Microsecond, maxGrowth, t.head[2:]...)
	return t
}

// newCatalogue makes a tenant with n animals in a database of its own.
func newCatalogue(ctx context.Context, e *env, n int) *sample {
	url := e.database(ctx, "animals", n)
	staff := must.Get(store.Open(ctx, url, store.Options{MaxConns: 1}))
	defer staff.Close()
	tenant := must.Get(staff.Tenants.Create(ctx, by, people.NewTenant{Name: "large", Plan: plans.Free}, time.Time{})).ID
	must.Do(servers.Exec(ctx, url,
		// This skips the foreign-key check for every row; there is only one tenant.
		"set session_replication_role = replica",
		fmt.Sprintf(`
		insert into pets (tenant_id, id, name, category_id, status, created_at) overriding system value
		select %d, i, 'Animal ' || lpad((i / 20)::text, 7, '0') || ' ' || i, i %% 7,
		       case i %% 5 when 0 then 'sold' when 1 then 'pending' else 'available' end, now()
		from generate_series(1, %d) as i`, tenant, n),
		// As on a long-running server: reads must not have to write what the insert left.
		"vacuum analyze pets", "checkpoint"))
	size := must.Get(servers.Value[float64](ctx, url, "select pg_total_relation_size('pets') / 1e6"))
	return &sample{
		n:     n,
		cells: []string{significant(size)},
		connect: func() (kinds []func() time.Duration, leave func()) {
			db := must.Get(store.Open(ctx, url, store.Options{AsAPI: true, MaxConns: 1, Timeout: time.Minute}))
			for _, p := range pages {
				kinds = append(kinds, func() time.Duration { return listPets(ctx, db, tenant, p.page(int64(n))) })
			}
			return kinds, func() { must.Do(db.Close()) }
		},
	}
}

// listPets returns how long a full page takes.
func listPets(ctx context.Context, db *store.DB, tenant int64, page catalog.Page) time.Duration {
	page.Limit = pageLimit
	start := time.Now()
	pets := must.Get(firstOf(db.Pets.ListPets(ctx, tenant, page)))
	took := time.Since(start)
	// The numbers of names begin with 0 and IDs with 1, so the first name has an animal less.
	if len(pets) != pageLimit && (page.NamePrefix == "" || len(pets) != pageLimit-1) {
		must.Do(fmt.Errorf("the page %+v has %d animals", page, len(pets)))
	}
	return took
}

func firstOf[T, U any](v T, _ U, err error) (T, error) { return v, err }
