package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	_ "github.com/lib/pq" // the driver "postgres"

	"petstore.example/internal/audit"
	"petstore.example/internal/catalog"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

const (
	pageLimit = 20
	// Every round measures all sizes, so that a disturbance affects all. A connection is used for several rounds: on its first access
	// to a page of the buffers it has a page fault of some 3 µs, which a server's long-lived connections do not. It is not used for
	// all, because its placement in memory may double its latencies for as long as it is open.
	animalRounds, roundsPerConnection, animalWarmUp, animalQueries = 21, 7, 20, 300
	// maxGrowth bounds the latency of the largest catalogue as a multiple of the smallest's.
	maxGrowth = 1.3
)

var by = audit.By{Actor: "bench", Reason: "benchmark"}

// pages are the kinds of pages that are measured. n is the number of animals; their IDs are 1 to n.
var pages = []struct {
	name string
	page func(n int64) catalog.Page
}{
	{"first page µs", func(int64) catalog.Page { return catalog.Page{Limit: pageLimit} }},
	{"deep page µs", func(n int64) catalog.Page { return catalog.Page{Limit: pageLimit, After: deep(n)} }},
	{"by status µs", func(int64) catalog.Page { return catalog.Page{Limit: pageLimit, Status: catalog.Sold} }},
	{"by status, deep µs", func(n int64) catalog.Page {
		return catalog.Page{Limit: pageLimit, Status: catalog.Sold, After: deep(n)}
	}},
	{"by category, deep µs", func(n int64) catalog.Page {
		return catalog.Page{Limit: pageLimit, CategoryID: new(int64(3)), After: deep(n)}
	}},
	{"by IDs µs", func(n int64) catalog.Page { return catalog.Page{Limit: pageLimit, IDs: someIDs(n)} }},
	{"by name µs", func(n int64) catalog.Page { return catalog.Page{Limit: pageLimit, NamePrefix: someName(n)} }},
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

// someName is what the names of pageLimit animals begin with: of that many the index is read, however many there are.
func someName(n int64) string { return fmt.Sprintf("Animal %07d", rand.Int64N(n/pageLimit)) }

// catalogue is a tenant with n animals in a database of its own.
type catalogue struct {
	n      int64
	tenant int64
	url    string
	// took has the medians of the rounds, by kind of page.
	took [][]time.Duration
}

func animals(ctx context.Context, e *env) (*table, error) {
	t := &table{
		title: "Animals of one tenant",
		about: "A list of 20 animals, from the call of `store.Pets.ListPets` to the last row read: with row-level security, a prepared statement, and a Unix socket. " +
			"*Deep* is a random position in the second half. One animal in 5 is sold, and *by status* lists those; of the 7 categories *by category* lists one. *By IDs* lists 20 animals, and *by name* those 20 or 19 whose name begins with the same text. Every size has a database of its own. " +
			fmt.Sprintf("The figures are medians of %d rounds of %d queries. Each round measures the sizes in a new order; connections are replaced every %d rounds.", animalRounds, animalQueries, roundsPerConnection),
		head: []string{"animals", "table and indexes MB"},
	}
	var all []*catalogue
	var sizes []string
	for _, n := range e.upTo(1_000, 10_000, 100_000, 1_000_000, 10_000_000) {
		e.logf("making %s animals", withCommas(int64(n)))
		c, megabytes, err := newCatalogue(ctx, e, int64(n))
		if err != nil {
			return nil, err
		}
		all, sizes = append(all, c), append(sizes, significant(megabytes))
	}
	for range animalRounds / roundsPerConnection {
		if err := measureOnce(ctx, all); err != nil {
			return nil, err
		}
	}
	for _, p := range pages {
		t.head = append(t.head, p.name)
	}
	for i, c := range all {
		t.add(append([]string{withCommas(c.n), sizes[i]}, c.medians()...)...)
	}
	for k, p := range pages {
		var figures []float64
		for _, c := range all {
			figures = append(figures, micros(median(c.took[k])))
		}
		t.growth(p.name, figures, maxGrowth)
	}
	return t, nil
}

func newCatalogue(ctx context.Context, e *env, n int64) (*catalogue, float64, error) {
	url, err := e.postgres.CreateDatabase(ctx, fmt.Sprintf("animals_%d", n))
	if err != nil {
		return nil, 0, err
	}
	staff, err := store.Open(ctx, url, store.Options{MaxConns: 1})
	if err != nil {
		return nil, 0, err
	}
	tenant, err := staff.Tenants.Create(ctx, by, store.NewTenant{Name: "large", Plan: plans.Free}, time.Time{})
	if err = errors.Join(err, staff.Close()); err != nil {
		return nil, 0, err
	}
	megabytes, err := fillAnimals(ctx, url, tenant.ID, n)
	if err != nil {
		return nil, 0, fmt.Errorf("make %d animals: %w", n, err)
	}
	return &catalogue{n: n, tenant: tenant.ID, url: url, took: make([][]time.Duration, len(pages))}, megabytes, nil
}

// fillAnimals inserts n animals and returns their size with indexes.
func fillAnimals(ctx context.Context, url string, tenant, n int64) (megabytes float64, err error) {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // the setting below is per connection
	// This skips the foreign-key check for every row; there is only one tenant.
	if _, err := db.ExecContext(ctx, "set session_replication_role = replica"); err != nil {
		return 0, err
	}
	_, err = db.ExecContext(ctx, `
		insert into pets (tenant_id, id, name, category_id, status, created_at) overriding system value
		select $1, i, 'Animal ' || lpad((i / 20)::text, 7, '0') || ' ' || i, i % 7,
		       case i % 5 when 0 then 'sold' when 1 then 'pending' else 'available' end, now()
		from generate_series(1, $2::bigint) as i`, tenant, n)
	if err != nil {
		return 0, err
	}
	// As on a long-running server: reads must not have to write what the insert left.
	for _, s := range []string{"vacuum analyze pets", "checkpoint"} {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return 0, err
		}
	}
	err = db.QueryRowContext(ctx, "select pg_total_relation_size('pets') / 1e6").Scan(&megabytes)
	return megabytes, err
}

// measureOnce measures all catalogues, each on a new connection.
func measureOnce(ctx context.Context, all []*catalogue) (err error) {
	var dbs []*store.DB
	defer func() {
		for _, db := range dbs {
			err = errors.Join(err, db.Close())
		}
	}()
	for _, c := range all {
		db, err := store.Open(ctx, c.url, store.Options{AsAPI: true, MaxConns: 1})
		if err != nil {
			return err
		}
		dbs = append(dbs, db)
	}
	for range roundsPerConnection {
		for _, i := range rand.Perm(len(all)) {
			if err := all[i].round(ctx, dbs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// round measures each kind of page.
func (c *catalogue) round(ctx context.Context, db *store.DB) error {
	took := make([][]time.Duration, len(pages))
	for i := range animalWarmUp + animalQueries {
		for k, p := range pages {
			d, err := c.list(ctx, db, p.page(c.n))
			if err != nil {
				return fmt.Errorf("%s of %d animals: %w", p.name, c.n, err)
			}
			if i >= animalWarmUp {
				took[k] = append(took[k], d)
			}
		}
	}
	for k := range pages {
		c.took[k] = append(c.took[k], median(took[k]))
	}
	return nil
}

// list returns how long a full page takes.
func (c *catalogue) list(ctx context.Context, db *store.DB, page catalog.Page) (time.Duration, error) {
	start := time.Now()
	pets, _, err := db.Pets.ListPets(ctx, c.tenant, page)
	took := time.Since(start)
	// The numbers of names begin with 0 and IDs with 1, so the first name has an animal less.
	if err == nil && len(pets) != pageLimit && (page.NamePrefix == "" || len(pets) != pageLimit-1) {
		err = fmt.Errorf("it has %d", len(pets))
	}
	return took, err
}

func (c *catalogue) medians() (cells []string) {
	for _, took := range c.took {
		cells = append(cells, significant(micros(median(took))))
	}
	return cells
}
