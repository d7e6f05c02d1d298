package servers

import (
	"context"
	"fmt"
	"time"

	"petstore.example/bench/load"
	"petstore.example/bench/must"
	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/people"
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

// Tenant is a sample tenant with its key.
type Tenant struct {
	ID    int64
	Key   string
	keyID string
}

// Sample is the tenants of one database. All have the same animals with the same IDs.
type Sample struct {
	// One is for reads and Writer for writes. Ranged has a key for reading, from 20 ranges of
	// addresses. Full has used up its limit per minute, and the key of Banned is banned for a day.
	One, Writer, Ranged, Full, Banned Tenant
	Many                              []Tenant
	// ManyKeys are further keys of Many, each tenant's in turn.
	ManyKeys []string
}

var by = audit.By{Actor: "bench", Reason: "benchmark"}

// Fill makes the sample. Afterwards the API cannot place a ban in that database: a key that is
// refused over and over would be banned within milliseconds, and a benchmark of refusals would
// measure the ban.
func Fill(ctx context.Context, url string) (s *Sample, err error) {
	defer must.Recover(&err)
	db := must.Get(store.Open(ctx, url, store.Options{MaxConns: 1}))
	defer db.Close()
	s = &Sample{Many: make([]Tenant, ManyTenants)}
	byName := map[string]*Tenant{
		"one":    &s.One,
		"writer": &s.Writer,
		"ranged": &s.Ranged,
		"full":   &s.Full,
		"banned": &s.Banned,
	}
	for i := range s.Many {
		byName[fmt.Sprintf("many-%03d", i)] = &s.Many[i]
	}
	for name, t := range byName {
		addTenant(ctx, db, t, name)
	}
	ban := people.NewBan{KeyID: s.Banned.keyID, Length: 24 * time.Hour, Reason: keys.AutomaticReason}
	must.Get(db.Bans.Place(ctx, by, ban, time.Now()))
	must.Do(Exec(ctx, url, fmt.Sprintf(`
		insert into pets (tenant_id, id, name, category_id, status, created_at) overriding system value
		select t.id, i + 1, (array['Rex', 'Luna', 'Milo', 'Bella', 'Oscar'])[i %% 5 + 1] || ' ' || (i + 1), i %% 7 + 1,
		       (array['available', 'pending', 'sold'])[i %% 3 + 1], now()
		from tenants t, generate_series(0, %d) i`, Animals-1),
		available(s.Writer.ID, FirstChanged, ChangedAnimals+load.MoreIDs)))
	s.ManyKeys = must.Get(insertKeys(ctx, url, s.Many, ManyKeys))
	return s, Exec(
		ctx,
		url,
		fmt.Sprintf("select setval(pg_get_serial_sequence('pets', 'id'), %d)", lastSupplied),
		"revoke execute on function place_automatic_ban from petstore_api",
		// For a table that was vacuumed while it was empty Postgres takes any index whose first
		// column fits, and a connection keeps that plan.
		fmt.Sprintf(`insert into orders (tenant_id, pet_id, quantity, status, created_at)
			select tenant_id, id, 1, 'cancelled', now() from pets where tenant_id = %d limit 1000`, s.One.ID),
		fmt.Sprintf(
			`insert into idempotency_keys (tenant_id, method, path, key, fingerprint, status, location, body,
				created_at, expires_at)
			select %d, 'POST', '/v1/pets', n::text, sha256(''), 201, '', '', now(), now() + interval '1 day' from
				generate_series(1, 1000) n`,
			s.One.ID,
		),
		// Autovacuum is off in a throwaway cluster.
		"vacuum analyze",
	)
}

// addTenant makes a tenant on Enterprise with a key, and a quota that no benchmark uses up. That of
// the tenant named full is used up by the first request of a minute.
func addTenant(ctx context.Context, db *store.DB, t *Tenant, name string) {
	quota := plans.Quota{PerMinute: 1_000_000_000, PerDay: 1_000_000_000_000}
	if name == "full" {
		quota.PerMinute = 1
	}
	made := must.Get(
		db.Tenants.Create(ctx, by, people.NewTenant{Name: name, Plan: plans.Enterprise, Own: &quota}, time.Time{}),
	)
	service := &keys.Service{Store: db.Keys}
	request := keys.Request{Tenant: name, Name: "bench", Environment: keys.Live}
	if name == "ranged" {
		ranges := []string{"127.0.0.1"}
		for i := range keys.MaxRanges - 1 {
			ranges = append(ranges, fmt.Sprintf("2001:db8:%d::/48", i))
		}
		request.Scope, request.Allowed = keys.ScopeRead, must.Get(keys.ParseRanges(ranges))
	}
	key, token, err := service.Issue(ctx, by, request)
	must.Do(err)
	*t = Tenant{ID: made.ID, Key: token.Reveal(), keyID: key.ID}
}
