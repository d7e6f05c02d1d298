package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

const (
	// Animals is how many a sample tenant has: more than a page.
	Animals = 50
	// Crowd is how many tenants take turns in a case of many.
	Crowd = 256
)

// unlimited is a quota that no benchmark uses up; full one that the first request of a minute does.
var (
	unlimited = plans.Quota{PerMinute: 1_000_000_000, PerDay: 1_000_000_000_000}
	full      = plans.Quota{PerMinute: 1, PerDay: 1_000_000_000_000}
)

// Tenant is a sample customer.
type Tenant struct {
	ID    int64
	Key   string
	keyID string
}

// Sample is the customers of one database. All have the same animals by the same ids.
type Sample struct {
	// One is read, Writer written to. Full has no request left in the minute, and the key of Banned is banned for a day.
	One, Writer, Full, Banned Tenant
	Many                      []Tenant
}

// Fill makes the sample, with a crowd of many tenants or without. From then on the API can place no ban in that database: a key that is refused over and over would be
// banned within milliseconds, and what a benchmark of refusals measured would be the ban.
func Fill(ctx context.Context, url string, crowd int) (*Sample, error) {
	f, err := newFiller(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("fill the database: %w", err)
	}
	s, err := f.fill(ctx, crowd)
	if err = errors.Join(err, f.close()); err != nil {
		return nil, fmt.Errorf("fill the database: %w", err)
	}
	return s, nil
}

// filler fills a database: the staff's way for tenants and keys, plain SQL for animals.
type filler struct {
	db  *store.DB
	sql *sql.DB
}

var by = audit.By{Actor: "bench", Reason: "benchmark"}

func newFiller(ctx context.Context, url string) (*filler, error) {
	db, err := store.Open(ctx, url, store.Options{MaxConns: 1})
	if err != nil {
		return nil, err
	}
	plain, err := openPool(url)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &filler{db, plain}, nil
}

func (f *filler) close() error { return errors.Join(f.db.Close(), f.sql.Close()) }

func (f *filler) fill(ctx context.Context, crowd int) (*Sample, error) {
	s := &Sample{Many: make([]Tenant, crowd)}
	named := map[string]*Tenant{"one": &s.One, "writer": &s.Writer, "banned": &s.Banned}
	for i := range s.Many {
		named[fmt.Sprintf("many-%03d", i)] = &s.Many[i]
	}
	for name, t := range named {
		if err := f.add(ctx, t, name, unlimited); err != nil {
			return nil, fmt.Errorf("add tenant %s: %w", name, err)
		}
	}
	if err := f.add(ctx, &s.Full, "full", full); err != nil {
		return nil, err
	}
	ban := store.NewBan{KeyID: s.Banned.keyID, Length: 24 * time.Hour, Reason: keys.AutomaticReason}
	if _, err := f.db.Bans.Place(ctx, by, ban, time.Now()); err != nil {
		return nil, err
	}
	return s, f.exec(ctx,
		"select setval(pg_get_serial_sequence('pets', 'id'), 1000)",
		"revoke insert on bans from petstore_api",
		// What a server that is not thrown away does by itself.
		"vacuum analyze")
}

func (f *filler) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := f.sql.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// add makes a tenant on Enterprise with its animals and a key.
func (f *filler) add(ctx context.Context, t *Tenant, name string, q plans.Quota) error {
	made, err := f.db.Tenants.Create(ctx, by, store.NewTenant{Name: name, Plan: plans.Enterprise, Own: &q}, time.Now())
	if err != nil {
		return err
	}
	service := &keys.Service{Store: f.db.Keys}
	key, token, err := service.Issue(ctx, by, keys.Request{Tenant: name, Name: "bench", Environment: keys.Live})
	if err != nil {
		return err
	}
	*t = Tenant{ID: made.ID, Key: token.Reveal(), keyID: key.ID}
	for i := range Animals {
		a := animal(i)
		_, err := f.sql.ExecContext(ctx, `
			insert into pets (tenant_id, id, name, category_id, status, created_at) overriding system value
			values ($1, $2, $3, $4, $5, now())`, made.ID, i+1, a.Name, a.CategoryID, a.Status)
		if err != nil {
			return err
		}
	}
	return nil
}

func animal(i int) catalog.NewPet {
	names := []string{"Rex", "Luna", "Milo", "Bella", "Oscar"}
	statuses := []catalog.Status{catalog.Available, catalog.Pending, catalog.Sold}
	return catalog.NewPet{
		Name:       fmt.Sprintf("%s %d", names[i%len(names)], i+1),
		CategoryID: int64(i%7) + 1,
		Status:     statuses[i%len(statuses)],
	}
}
