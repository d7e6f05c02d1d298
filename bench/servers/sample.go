package servers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lib/pq"

	"petstore.example/bench/load"
	"petstore.example/bench/must"
	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
)

const (
	// ManyTenants is the number of tenants in Many, as the page about benchmarks says.
	ManyTenants = 300
	animals     = 50 // per tenant: more than a page
	// ChangedAnimals is how many more animals each tenant of Many has, for requests that change
	// them.
	ChangedAnimals = 200
	// FirstChanged is the ID of the first of these animals.
	FirstChanged = 1001
)

// Tenant is a sample tenant with its key.
type Tenant struct {
	ID  int64
	Key string
}

// Sample is the tenants of one database. All have the same animals with the same IDs. Full has a
// limit of one request per minute.
type Sample struct {
	One, Full Tenant
	Many      []Tenant
}

var by = audit.By{Actor: "bench", Reason: "benchmark"}

// Fill makes the sample. Afterwards the API can place no bans in that database. Otherwise a key
// that is refused over and over would be banned within milliseconds, and a benchmark of refusals
// would measure the ban.
func Fill(ctx context.Context, url string, month bool) (s *Sample, err error) {
	defer must.Recover(&err)
	db := must.Get(store.Open(ctx, url, store.Options{MaxConns: 1}))
	defer db.Close()
	s = &Sample{One: addTenant(ctx, db, "one", 1e9, month), Full: addTenant(ctx, db, "full", 1, month)}
	for i := range ManyTenants {
		s.Many = append(s.Many, addTenant(ctx, db, fmt.Sprintf("many-%03d", i), 1e9, month))
	}
	const insert = `
		insert into pets (tenant_id, id, name, category_id, status, created_at) overriding system value
		select t.id, i + 1, (array['Rex', 'Luna', 'Milo', 'Bella', 'Oscar'])[i %% 5 + 1] || ' ' || (i + 1), i %% 7 + 1,
		       (array['available', 'pending', 'sold'])[i %% 3 + 1], now()
		from tenants t, generate_series(%d, %d) i where t.name like '%s'`
	return s, Exec(ctx, url,
		fmt.Sprintf(insert, 0, animals-1, "%"),
		fmt.Sprintf(insert, FirstChanged-1, FirstChanged+ChangedAnimals-2, "many-%"),
		fmt.Sprintf("select setval(pg_get_serial_sequence('pets', 'id'), %d)", lastSupplied),
		"revoke execute on function place_automatic_ban from petstore_api",
		// If a table was vacuumed while it was empty, Postgres plans with any index whose first
		// column fits, and a connection keeps that plan.
		fmt.Sprintf(`insert into orders (tenant_id, pet_id, quantity, status, created_at)
			select tenant_id, id, 1, 'cancelled', now() from pets where tenant_id <> %d limit 1000`, s.One.ID),
		fmt.Sprintf(`insert into idempotency_keys
			(tenant_id, method, path, key, fingerprint, status, location, body, created_at, expires_at)
			select %d, 'POST', '/v1/pets', n::text, sha256(''), 201, '', '', now(), now() + interval '1 day'
			from generate_series(1, 1000) n`, s.One.ID),
		"vacuum analyze") // Autovacuum is off in a throwaway cluster.
}

// addTenant makes a tenant on Enterprise with a key, and a daily limit that no benchmark uses up. If
// month is set, it has such a limit per month, too.
func addTenant(ctx context.Context, db *store.DB, name string, perMinute int64, month bool) Tenant {
	quota := plans.Quota{PerMinute: perMinute, PerDay: 1_000_000_000_000}
	if month {
		quota.Month = plans.Month{Kind: plans.SomeMonth, Included: quota.PerDay}
	}
	tenant := tenancy.NewTenant{Name: name, Plan: plans.Enterprise, Own: &quota}
	made := must.Get(db.Tenants.Create(ctx, by, tenant, time.Time{}))
	service := &keys.Service{Store: db.Keys}
	_, token, err := service.Issue(ctx, by, keys.Request{Tenant: name, Name: "bench", Environment: keys.Live})
	must.Do(err)
	return Tenant{ID: made.ID, Key: token.Reveal()}
}

// Supply adds what the requests of a run use up, while a server runs on the database.
type Supply struct {
	url  string
	many []Tenant
	next int64 // the ID of the next animal
}

// The first and last IDs of a Supply's animals. Animals that requests create get IDs after these.
const firstSupplied, lastSupplied = 1_000_000, 9_999_999

// NewSupply returns the supply of a database with that sample.
func NewSupply(url string, s *Sample) *Supply { return &Supply{url, s.Many, firstSupplied} }

// Animals adds n available animals to random tenants of Many. Each request of the target uses up
// one. The target's keys belong to Many.
func (s *Supply) Animals(ctx context.Context, t *load.Target, n int) error {
	tenants := make(pq.Int64Array, n+load.MoreIDs)
	if s.next+int64(len(tenants)) > lastSupplied {
		return errors.New("there are no more IDs for animals")
	}
	t.IDs = &load.IDs{First: s.next, Count: int64(n), Owners: make([]int, n)}
	for i := range tenants {
		owner := 0
		if i < n {
			owner = rand.IntN(len(s.many))
			t.IDs.Owners[i] = owner
		}
		tenants[i] = s.many[owner].ID
	}
	_, err := Value[int64](ctx, s.url, `
		with added as (
		  insert into pets (tenant_id, id, name, category_id, status, created_at) overriding system value
		  select tenant, $1 + number - 1, 'Rex the dog', 7, 'available', now()
		  from unnest($2::bigint[]) with ordinality a (tenant, number) returning id
		)
		select count(*) from added`, s.next, tenants)
	s.next += int64(len(tenants))
	return err
}

// Keys adds n keys to Many that were used before, but that no server knows. Each request of the
// target uses up one. They are inserted without triggers, so that a running server gets no
// notifications.
func (s *Supply) Keys(ctx context.Context, t *load.Target, n int) error {
	t.Keys = make([]string, n)
	digests, tenants := make(pq.ByteaArray, n), make(pq.Int64Array, n)
	for i := range t.Keys {
		token, err := keys.NewToken(keys.Live)
		if err != nil {
			return err
		}
		digest := token.Digest()
		t.Keys[i], digests[i], tenants[i] = token.Reveal(), digest[:], s.many[i%len(s.many)].ID
	}
	_, err := Value[int64](ctx, s.url+"&session_replication_role=replica", `
		with added as (
		  insert into api_keys (id, tenant_id, name, environment, digest, last4, created_at, presented)
		  select 'key_' || left(encode(digest, 'hex'), 16), tenant, 'bench', 'live', digest, 'last', now(), true
		  from unnest($1::bytea[], $2::bigint[]) k (digest, tenant) returning tenant_id
		)
		select count(*) from added`, digests, tenants)
	return err
}
