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
	// Rounds go over all sizes in turn, so that what disturbs one disturbs all; each asks so many times. A connection lives for so many
	// rounds: a new one pays a page fault, some 3 µs, for every page of the buffers that it is the first time at, and a server's
	// lives for hours; but where the system places one may double what its answers take, for as long as it lives.
	animalRounds, animalLife, animalWarmUp, animalQueries = 21, 7, 20, 300
	// maxGrowth is how many times as long the largest catalogue's pages may take as the smallest's.
	maxGrowth = 1.3
)

var by = audit.By{Actor: "bench", Reason: "benchmark"}

// pages are the kinds of pages that are asked for. n is how many animals there are; their ids are 1 to n.
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
}

// deep is anywhere in the second half but for its end, where a page of any status is still full.
func deep(n int64) int64 { return n/2 + rand.Int64N(n*3/10) }

// catalogue is a tenant with many animals, in a database of its own.
type catalogue struct {
	n      int64
	tenant int64
	url    string
	// took is the medians of the rounds, by kind of page.
	took [][]time.Duration
}

func animals(ctx context.Context, g *ground) (*table, error) {
	t := &table{
		title: "Animals of one tenant",
		about: "A list of 20 as the API asks for it, from the call of `store.Pets.ListPets` to the last row read: behind row-level security, prepared, over a Unix " +
			"socket. *Deep* is anywhere in the second half. One animal in 5 is sold, and *by status* asks for those. Every size has a database of its own; " +
			fmt.Sprintf("the figures are medians of %d rounds of %d queries, all sizes in a new order each round, on a new connection every %d rounds.", animalRounds, animalQueries, animalLife),
		head: []string{"animals", "table and indexes MB"},
	}
	var all []*catalogue
	var sizes []string
	for _, n := range g.upTo(1_000, 10_000, 100_000, 1_000_000, 10_000_000) {
		g.say("making %s animals", grouped(int64(n)))
		c, megabytes, err := newCatalogue(ctx, g, int64(n))
		if err != nil {
			return nil, err
		}
		all, sizes = append(all, c), append(sizes, figure(megabytes))
	}
	for range animalRounds / animalLife {
		if err := live(ctx, all); err != nil {
			return nil, err
		}
	}
	for _, p := range pages {
		t.head = append(t.head, p.name)
	}
	for i, c := range all {
		t.add(append([]string{grouped(c.n), sizes[i]}, c.medians()...)...)
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

func newCatalogue(ctx context.Context, g *ground, n int64) (*catalogue, float64, error) {
	url, err := g.postgres.CreateDatabase(ctx, fmt.Sprintf("animals_%d", n))
	if err != nil {
		return nil, 0, err
	}
	staff, err := store.Open(ctx, url, store.Options{MaxConns: 1})
	if err != nil {
		return nil, 0, err
	}
	tenant, err := staff.Tenants.Create(ctx, by, store.NewTenant{Name: "large", Plan: plans.Free}, time.Now())
	if err = errors.Join(err, staff.Close()); err != nil {
		return nil, 0, err
	}
	megabytes, err := fillAnimals(ctx, url, tenant.ID, n)
	if err != nil {
		return nil, 0, fmt.Errorf("make %d animals: %w", n, err)
	}
	return &catalogue{n: n, tenant: tenant.ID, url: url, took: make([][]time.Duration, len(pages))}, megabytes, nil
}

// fillAnimals returns how many MB they take with their indexes.
func fillAnimals(ctx context.Context, url string, tenant, n int64) (megabytes float64, err error) {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // the setting below is the connection's
	// Without the check of the foreign key for every row, which is right as it is one tenant.
	if _, err := db.ExecContext(ctx, "set session_replication_role = replica"); err != nil {
		return 0, err
	}
	_, err = db.ExecContext(ctx, `
		insert into pets (tenant_id, id, name, category_id, status, created_at) overriding system value
		select $1, i, 'Animal ' || i, i % 7,
		       case i % 5 when 0 then 'sold' when 1 then 'pending' else 'available' end, now()
		from generate_series(1, $2::bigint) as i`, tenant, n)
	if err != nil {
		return 0, err
	}
	// As a server that is not thrown away does by and by: who reads must not have to write what was filled in.
	for _, s := range []string{"vacuum analyze pets", "checkpoint"} {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return 0, err
		}
	}
	err = db.QueryRowContext(ctx, "select pg_total_relation_size('pets') / 1e6").Scan(&megabytes)
	return megabytes, err
}

// live asks for pages of all catalogues on a connection to each.
func live(ctx context.Context, all []*catalogue) (err error) {
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
	for range animalLife {
		for _, i := range rand.Perm(len(all)) {
			if err := all[i].round(ctx, dbs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// round asks for each kind of page often, the kinds in turn.
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

// list returns how long a full page took.
func (c *catalogue) list(ctx context.Context, db *store.DB, page catalog.Page) (time.Duration, error) {
	start := time.Now()
	pets, _, err := db.Pets.ListPets(ctx, c.tenant, page)
	took := time.Since(start)
	if err == nil && len(pets) != pageLimit {
		err = fmt.Errorf("it has %d", len(pets))
	}
	return took, err
}

func (c *catalogue) medians() (cells []string) {
	for _, took := range c.took {
		cells = append(cells, figure(micros(median(took))))
	}
	return cells
}
