package webhooks_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/webhooks"
)

// overlapping has three servers claim in transactions that are all open at once, and returns how
// many slots of the endpoint they have then.
func (b box) overlapping(t *testing.T) (slots int) {
	t.Helper()
	var open []*sqlx.Tx
	for range 3 {
		tx := fixture.Connect(t, b.APIURL).MustBegin()
		open = append(open, tx)
		var n int
		assert.NoError(t, tx.Get(&n, `
			select count(distinct slot) from claim_deliveries($1, $2, 48, 16)`, uuid.New(), pq.Array(k1)))
		slots += n
	}
	for _, tx := range open {
		assert.NoError(t, tx.Commit())
	}
	return slots
}

// TestClaimsThatOverlap: servers that claim at once have two slots of an endpoint together. A claim
// that counts what is leased instead, which its snapshot does not show, has more, and is found.
func TestClaimsThatOverlap(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.fill(t, b.enabled(t, "*"), 200, "key.issued")
	assert.Equal(t, b.overlapping(t), 2, "slots of an endpoint")
	b.Exec(t, `
		create or replace function claim_deliveries(by uuid, keys text[], healthy integer, failing integer)
		returns table (endpoint_id bigint, slot smallint, is_failing boolean, url text, key_ids text[], secrets bytea[],
		  id bigint, attempt integer, event_id uuid, type text, body text) language sql security definer as $$
		  with taken as (
		    select d.endpoint_id, d.id from deliveries d where d.due_at <= now()
		    limit 2 - (select count(*) from deliveries o where o.due_at > now()) for update skip locked
		  ), moved as (
		    update deliveries d set due_at = now() + interval '30 s' from taken t
		    where d.endpoint_id = t.endpoint_id and d.id = t.id
		    returning d.*
		  )
		  select m.endpoint_id, m.id::smallint, false, '', '{}'::text[], '{}'::bytea[], m.id, 1, m.event_id, '', ''
		  from moved m
		$$;
		update deliveries set due_at = now()`)
	if planted := b.overlapping(t); planted <= 2 {
		t.Errorf("a claim that counts has %d in flight: this test finds no fault", planted)
	}
}

// TestServersTogether: three servers deliver all events once, and never have more than two batches
// of an endpoint.
func TestServersTogether(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	const each, endpoints = 400, 4
	for range endpoints {
		b.fill(t, b.enabled(t, "*"), each, "key.issued")
	}
	var (
		mu       sync.Mutex
		inFlight = map[int64]int{}
		sent     = map[int64]int{}
		servers  sync.WaitGroup
	)
	for range 3 {
		servers.Go(func() {
			server := uuid.New()
			for empty := 0; empty < 20; {
				batches, err := b.API.Outbox.Claim(t.Context(), server, k1, 48, 16)
				if err != nil {
					t.Error(err)
					return
				}
				if empty++; len(batches) > 0 {
					empty = 0
				}
				mu.Lock()
				for _, batch := range batches {
					if inFlight[batch.EndpointID]++; inFlight[batch.EndpointID] > webhooks.Slots {
						t.Errorf("%d batches of endpoint %d", inFlight[batch.EndpointID], batch.EndpointID)
					}
					for _, d := range batch.Deliveries {
						sent[d.ID]++
					}
				}
				mu.Unlock()
				time.Sleep(time.Millisecond) // so that the requests of several servers overlap
				mu.Lock()
				for _, batch := range batches {
					inFlight[batch.EndpointID]--
				}
				mu.Unlock()
				if err := b.API.Outbox.Finish(t.Context(), server, results(batches, delivered)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	servers.Wait()
	assert.Equal(t, len(sent), each*endpoints, "events")
	for id, n := range sent {
		assert.Equal(t, n, 1, "times that delivery", id, "was sent")
	}
	b.Want(
		t,
		fmt.Sprint(each*endpoints),
		`select count(*)::text from deliveries where result = 'delivered' and attempts = 1`,
	)
	b.Want(t, fmt.Sprint(2*endpoints), `select count(*)::text from endpoint_slots where holder is null`)
}

// TestDeadEndpointsDelayNobody: dead endpoints, each with a backlog, get 16 batches of one delivery,
// one each, and the claim that gives them has the only event of another endpoint too.
func TestDeadEndpointsDelayNobody(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	const dead = 41
	first := b.enabled(t, "*")
	for range dead - 1 { // more than a tenant may have
		b.Exec(t, `
			with e as (
			  insert into endpoints (tenant_id, environment, url, events, verified_at, failing_since)
			  select tenant_id, environment, url, events, verified_at, now() from endpoints where id = $1 returning id
			), s as (insert into endpoint_slots (endpoint_id, slot) select id, n from e, generate_series(0, 1) n)
			insert into endpoint_secrets (endpoint_id, key_id, sealed) select id, 'k1', '' from e`, first.ID)
	}
	b.Exec(t, `
		update endpoints set failing_since = now() where id = $1`, first.ID)
	b.Exec(t, `
		with v as (insert into events (tenant_id, type, body) values ($1, 'key.issued', '{}') returning id)
		insert into deliveries (endpoint_id, tenant_id, event_id)
		select e.id, $1, v.id from endpoints e, v, generate_series(1, 500)`, b.acme.ID)
	well := b.other(t)
	b.fill(t, well, 1, "key.revoked")

	batches := b.claim(t)
	failing, at := 0, -1
	seen := map[int64]bool{}
	for i, batch := range batches {
		if batch.EndpointID == well.ID {
			at = i
			continue
		}
		if failing++; !batch.Failing || len(batch.Deliveries) != 1 || seen[batch.EndpointID] {
			t.Errorf("a dead endpoint has %d deliveries, failing %v, again %v",
				len(batch.Deliveries), batch.Failing, seen[batch.EndpointID])
		}
		seen[batch.EndpointID] = true
	}
	assert.Equal(t, failing, 16, "batches of dead endpoints")
	if at < 0 || len(batches[at].Deliveries) != 1 {
		t.Fatal("the other endpoint waits")
	}
	b.finish(t, batches, failed)
	// Those that waited longest are next.
	for _, batch := range b.claim(t) {
		if batch.EndpointID != well.ID && seen[batch.EndpointID] {
			t.Errorf("endpoint %d has its turn again before others", batch.EndpointID)
		}
	}
}

// TestBatches: an endpoint that answers gets 20 deliveries a slot, each another one, in order: pings
// first, then what is new, then replays, which one slot alone sends.
func TestBatches(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.enabled(t, "*")
	b.fill(t, e, 50, "key.issued")
	batches := b.claim(t)
	if got := numbers(batches); !slices.Equal(got, []int{20, 20}) {
		t.Errorf("batches of %v", got)
	}
	all := slices.Concat(batches[0].Deliveries, batches[1].Deliveries)
	ids := map[int64]bool{}
	for i, d := range all {
		ids[d.ID] = true
		if i > 0 && d.ID <= all[i-1].ID {
			t.Errorf("delivery %d after %d", d.ID, all[i-1].ID)
		}
	}
	assert.Equal(t, len(ids), 40, "deliveries in two batches")
	assert.Equal(t, len(b.claim(t)), 0, "batches beside two")
	b.finish(t, batches, delivered)
	b.deliver(t)

	_, err := b.API.Endpoints.Replay(t.Context(), b.boss, e.ID, webhooks.Replay{All: true})
	assert.NoError(t, err)
	b.fill(t, e, 2, "key.revoked")
	assert.NoError(t, fixture.ErrorOf(b.API.Endpoints.Test(t.Context(), b.boss, e.ID)))
	batches = b.claim(t)
	assert.Equal(t, len(batches), 1, "batches with a replay")
	var types []string
	for _, d := range batches[0].Deliveries[:5] {
		types = append(types, d.Type)
	}
	if want := []string{"ping", "key.revoked", "key.revoked", "key.issued", "key.issued"}; !slices.Equal(types, want) {
		t.Errorf("order %v, want %v", types, want)
	}
}

// TestLeases: what a server claimed and did not finish is claimed again after 30 s. Its late results
// are stored, but they free no slot of another server and take no delivery back.
func TestLeases(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.fill(t, b.enabled(t, "*"), 1, "key.issued")
	old := b.claim(t)
	expire := func() {
		b.Exec(t, `update endpoint_slots set leased_until = now() where holder is not null`)
		b.Exec(t, `update deliveries set due_at = now() where done_at is null`)
	}
	b.Want(t, "true", `
		select (leased_until - now() between '29 s' and '30 s' and d.due_at = leased_until)::text
		from endpoint_slots s, deliveries d where s.holder is not null`)
	expire()
	other := uuid.New()
	again, err := b.API.Outbox.Claim(t.Context(), other, k1, 48, 16)
	assert.NoError(t, err)
	assert.Equal(t, again[0].Deliveries[0].EventID, old[0].Deliveries[0].EventID)
	assert.Equal(t, again[0].Deliveries[0].Attempt, 1, "the attempt")
	b.finish(t, old, failed)
	b.Want(t, other.String(), `select holder::text from endpoint_slots where holder is not null`)
	assert.NoError(t, b.API.Outbox.Finish(t.Context(), other, results(again, delivered)))
	b.Want(t, "delivered 1", `select result || ' ' || attempts from deliveries`)
	b.finish(t, old, failed)
	b.Want(t, "delivered", `select result from deliveries`)
	b.Want(t, "true", `select (failing_since is null)::text from endpoints`)
}

// TestKeysOfServers: an endpoint waits while a server can't open its secret. A rotation helps at
// once, and earlier secrets that can be opened sign too.
func TestKeysOfServers(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.enabled(t, "*")
	b.fill(t, e, 2, "key.issued")
	claim := func(keys ...string) (ids []string) {
		batches, err := b.API.Outbox.Claim(t.Context(), holder, keys, 1, 0)
		assert.NoError(t, err)
		for _, batch := range batches {
			for _, s := range batch.Secrets {
				ids = append(ids, s.KeyID)
			}
		}
		b.finish(t, batches, func(r *webhooks.Result) { r.Outcome = webhooks.Returned })
		return ids
	}
	assert.Equal(t, len(claim("k2")), 0, "secrets for a server that can't open them")
	rotate := func(key string, grace time.Duration) {
		assert.NoError(t, fixture.ErrorOf(b.API.Endpoints.Rotate(t.Context(), b.boss, e.ID, grace, seal(key))))
	}
	rotate("k2", time.Hour)
	assert.DeepEqual(t, claim("k2"), []string{"k2"})
	assert.DeepEqual(t, claim("k2", "k1"), []string{"k2", "k1"})
	assert.Equal(t, len(claim("k1")), 0, "secrets for a server that has only the earlier one's key")
	for range 6 {
		rotate("k2", time.Hour)
	}
	assert.DeepEqual(t, claim("k2", "k1"), []string{"k2", "k2", "k2", "k2", "k2"})

	server := uuid.New()
	for _, keys := range [][]string{{"k3", "k2"}, nil} {
		backlog, err := b.API.Outbox.Report(t.Context(), server, keys, nil)
		assert.NoError(t, err)
		assert.Equal(t, backlog.Endpoints, 1, "endpoints")
	}
	stale, err := b.API.Outbox.Stale(t.Context(), []string{"k3", "k2"}, 3)
	assert.NoError(t, err)
	assert.Equal(t, len(stale), 3, "secrets to be sealed anew")
	for _, s := range stale {
		assert.NoError(t, b.API.Outbox.Reseal(t.Context(), s, seal("k3")(s.EndpointID)))
	}
	report, err := b.Outbox.Keys(t.Context())
	assert.NoError(t, err)
	assert.DeepEqual(t, report, webhooks.KeyReport{
		Servers: map[uuid.UUID][]string{server: {}}, Secrets: map[string]int64{"k2": 2, "k3": 3},
	})
	rotate("k3", 0)
	assert.DeepEqual(t, claim("k3", "k2"), []string{"k3"})
}

// TestIdleClaimsReadLittle: a claim does not read the deliveries that wait for their next attempt,
// however many there are. It has the settings of the API's sessions.
func TestIdleClaimsReadLittle(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.enabled(t, "*")
	b.fill(t, e, 10_000, "key.issued")
	b.fill(t, b.enabled(t, "*"), 100, "key.issued")
	b.Exec(t, `analyze deliveries`) // when all were due
	b.Exec(t, `update deliveries set due_at = now() + interval '1 hour' where endpoint_id = $1`, e.ID)
	b.Exec(t, `update endpoints set disabled_reason = 'customer' where id <> $1`, e.ID)
	db := fixture.Connect(t, b.URL)
	db.SetMaxOpenConns(1)
	db.MustExec(`set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_hashjoin = off;
		set enable_mergejoin = off; set jit = off`)
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	for range 2 { // The first also reads the catalogue of tables.
		var text []byte
		assert.NoError(t, db.Get(&text, `
			explain (analyze, buffers, format json) select * from claim_deliveries(gen_random_uuid(), '{k1}', 48, 16)`))
		assert.NoError(t, json.Unmarshal(text, &plans))
	}
	if n := plans[0].Plan.Hit + plans[0].Plan.Read; n > 1000 {
		t.Errorf("an idle claim reads %d blocks", n)
	} else {
		t.Log(n, "blocks")
	}
}
