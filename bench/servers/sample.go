package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"petstore.example/bench/load"
	"petstore.example/internal/audit"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

const (
	// Animals is how many animals a sample tenant has: more than a page.
	Animals = 50
	// ManyTenants is how many tenants the cases of many tenants have.
	ManyTenants = 300
	// ManyKeys is how many keys these have besides.
	ManyKeys = 10_000
	// ChangedAnimals is how many further animals Writer has, to be changed.
	ChangedAnimals = 10_000
	// FirstChanged is the ID of the first of them.
	FirstChanged = 1001
)

// unlimited is a quota that no benchmark uses up; onePerMinute is used up by the first request of a minute.
var (
	unlimited    = plans.Quota{PerMinute: 1_000_000_000, PerDay: 1_000_000_000_000}
	onePerMinute = plans.Quota{PerMinute: 1, PerDay: 1_000_000_000_000}
)

// Tenant is a sample tenant with its key.
type Tenant struct {
	ID    int64
	Key   string
	keyID string
}

// Sample is the tenants of one database. All have the same animals with the same IDs.
type Sample struct {
	// One is for reads and Writer for writes. Full has used up its limit per minute, and the key of Banned is banned for a day.
	One, Writer, Full, Banned Tenant
	Many                      []Tenant
	// ManyKeys are further keys of Many, each tenant's in turn.
	ManyKeys []string
}

// Fill makes the sample. Afterwards the API cannot place a ban in that database: a key that is refused
// over and over would be banned within milliseconds, and a benchmark of refusals would measure the ban.
func Fill(ctx context.Context, url string) (*Sample, error) {
	f, err := newFiller(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("fill the database: %w", err)
	}
	s, err := f.fill(ctx)
	if err = errors.Join(err, f.close()); err != nil {
		return nil, fmt.Errorf("fill the database: %w", err)
	}
	return s, nil
}

// filler fills a database: tenants and keys through the store, animals with SQL.
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

func (f *filler) fill(ctx context.Context) (*Sample, error) {
	s := &Sample{Many: make([]Tenant, ManyTenants)}
	byName := map[string]*Tenant{"one": &s.One, "writer": &s.Writer, "banned": &s.Banned}
	for i := range s.Many {
		byName[fmt.Sprintf("many-%03d", i)] = &s.Many[i]
	}
	for name, t := range byName {
		if err := f.add(ctx, t, name, unlimited); err != nil {
			return nil, fmt.Errorf("add tenant %s: %w", name, err)
		}
	}
	if err := f.add(ctx, &s.Full, "full", onePerMinute); err != nil {
		return nil, err
	}
	ban := store.NewBan{KeyID: s.Banned.keyID, Length: 24 * time.Hour, Reason: keys.AutomaticReason}
	if _, err := f.db.Bans.Place(ctx, by, ban, time.Now()); err != nil {
		return nil, err
	}
	if err := f.addAnimals(ctx, s.One.ID); err != nil {
		return nil, err
	}
	if err := f.exec(ctx, copyAnimals); err != nil {
		return nil, err
	}
	if err := insertAvailable(ctx, f.sql, s.Writer.ID, FirstChanged, ChangedAnimals+load.MoreIDs); err != nil {
		return nil, err
	}
	var err error
	if s.ManyKeys, err = insertKeys(ctx, f.sql, s.Many, ManyKeys); err != nil {
		return nil, err
	}
	return s, f.exec(ctx,
		fmt.Sprintf("select setval(pg_get_serial_sequence('pets', 'id'), %d)", lastSupplied),
		"revoke execute on function place_automatic_ban from petstore_api",
		// For a table that was vacuumed while it was empty Postgres takes any index whose first column fits, and a connection keeps that plan.
		fmt.Sprintf(`insert into orders (tenant_id, pet_id, quantity, status, created_at)
			select tenant_id, id, 1, 'cancelled', now() from pets where tenant_id = %d limit 1000`, s.One.ID),
		fmt.Sprintf(`insert into idempotency_keys (tenant_id, method, path, key, fingerprint, status, location, body, created_at, expires_at)
			select %d, 'POST', '/v1/pets', n::text, sha256(''), 201, '', '', now(), now() + interval '1 day' from generate_series(1, 1000) n`, s.One.ID),
		// Autovacuum is off in a throwaway cluster.
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

// add makes a tenant on Enterprise with a key.
func (f *filler) add(ctx context.Context, t *Tenant, name string, q plans.Quota) error {
	made, err := f.db.Tenants.Create(ctx, by, store.NewTenant{Name: name, Plan: plans.Enterprise, Own: &q}, time.Time{})
	if err != nil {
		return err
	}
	service := &keys.Service{Store: f.db.Keys}
	key, token, err := service.Issue(ctx, by, keys.Request{Tenant: name, Name: "bench", Environment: keys.Live})
	if err != nil {
		return err
	}
	*t = Tenant{ID: made.ID, Key: token.Reveal(), keyID: key.ID}
	return nil
}

func (f *filler) addAnimals(ctx context.Context, tenant int64) error {
	for i := range Animals {
		a := animal(i)
		_, err := f.sql.ExecContext(ctx, `
			insert into pets (tenant_id, id, name, category_id, status, created_at) overriding system value
			values ($1, $2, $3, $4, $5, now())`, tenant, i+1, a.Name, a.CategoryID, a.Status)
		if err != nil {
			return err
		}
	}
	return nil
}

// copyAnimals gives all tenants the animals of the one that has some.
const copyAnimals = `
	insert into pets (tenant_id, id, name, category_id, status, created_at) overriding system value
	select t.id, p.id, p.name, p.category_id, p.status, p.created_at from pets p join tenants t on t.id <> p.tenant_id`

func animal(i int) catalog.NewPet {
	names := []string{"Rex", "Luna", "Milo", "Bella", "Oscar"}
	statuses := []catalog.Status{catalog.Available, catalog.Pending, catalog.Sold}
	return catalog.NewPet{
		Name:       fmt.Sprintf("%s %d", names[i%len(names)], i+1),
		CategoryID: int64(i%7) + 1,
		Status:     statuses[i%len(statuses)],
	}
}
