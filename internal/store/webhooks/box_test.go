package webhooks_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/webhooks"
)

// box is an office whose tenant acme has a key that manages its endpoints.
type box struct {
	fixture.Office
	acme plans.Tenant
	boss webhooks.Requester
}

func newBox(t *testing.T) box {
	t.Helper()
	return newBoxIn(t, fixture.NewOffice(t))
}

func newBoxIn(t *testing.T, o fixture.Office) box {
	t.Helper()
	b := box{Office: o}
	b.API = storetest.Open(t, o.APIURL, store.Options{AsAPI: true, Timeout: fixture.LongTimeout, MaxConns: 4})
	b.acme = b.Tenant(t, "acme", plans.Pro)
	b.boss = b.manager(t, "acme", keys.Live)
	return b
}

// manager issues a key that manages the tenant's endpoints.
func (b box) manager(t *testing.T, tenant string, env keys.Environment) webhooks.Requester {
	t.Helper()
	k, token, err := b.Service().Issue(t.Context(), fixture.Jo,
		keys.Request{Tenant: tenant, Environment: env, Scope: keys.ScopeManage})
	assert.NoError(t, err)
	return webhooks.Requester{TenantID: k.TenantID, Digest: token.Digest()}
}

// seal stands for a Sealer: k is the ID of its key.
func seal(k string) webhooks.Seal {
	return func(id int64) webhooks.Sealed {
		return webhooks.Sealed{KeyID: k, Ciphertext: fmt.Append(nil, "sealed ", id, uuid.New())}
	}
}

// endpoint adds an endpoint that wants the events. It is pending.
func (b box) endpoint(t *testing.T, by webhooks.Requester, events ...string) webhooks.Endpoint {
	t.Helper()
	e, err := b.API.Endpoints.Create(t.Context(), by,
		webhooks.NewEndpoint{URL: "https://example.com/hook", Events: events}, seal("k1"), nil)
	assert.NoError(t, err)
	return e
}

// enabled adds an endpoint that has answered a ping.
func (b box) enabled(t *testing.T, events ...string) webhooks.Endpoint {
	t.Helper()
	e := b.endpoint(t, b.boss, events...)
	b.Exec(t, `update endpoints set verified_at = now() where id = $1`, e.ID)
	return e
}

// other adds an enabled endpoint of another tenant.
func (b box) other(t *testing.T) webhooks.Endpoint {
	t.Helper()
	b.Tenant(t, "globex", plans.Pro)
	e := b.endpoint(t, b.manager(t, "globex", keys.Live), "*")
	b.Exec(t, `update endpoints set verified_at = now() where id = $1`, e.ID)
	return e
}

var (
	holder = uuid.New()
	k1     = []string{"k1"}
)

// claim claims all that is due.
func (b box) claim(t *testing.T) []webhooks.Batch {
	t.Helper()
	batches, err := b.API.Outbox.Claim(t.Context(), holder, k1, 48, 16)
	assert.NoError(t, err)
	return batches
}

// finish stores the same result for all deliveries of the batches.
func (b box) finish(t *testing.T, batches []webhooks.Batch, change func(*webhooks.Result)) {
	t.Helper()
	assert.NoError(t, b.API.Outbox.Finish(t.Context(), holder, results(batches, change)))
}

func results(batches []webhooks.Batch, change func(*webhooks.Result)) (list []webhooks.Result) {
	for _, batch := range batches {
		for i, d := range batch.Deliveries {
			r := webhooks.Result{
				DeliveryID: d.ID, EndpointID: batch.EndpointID, Slot: batch.Slot, Attempt: d.Attempt,
				At: time.Now(), Took: 7 * time.Millisecond, Status: 204, Outcome: webhooks.Delivered,
				Last: i == len(batch.Deliveries)-1,
			}
			change(&r)
			list = append(list, r)
		}
	}
	return list
}

func delivered(*webhooks.Result) {}

func failed(r *webhooks.Result) { r.Outcome, r.Status = webhooks.Failed, 500 }

// deliver delivers all that is due, and returns the types in order.
func (b box) deliver(t *testing.T) (types []string) {
	t.Helper()
	for batches := b.claim(t); len(batches) > 0; batches = b.claim(t) {
		for _, batch := range batches {
			for _, d := range batch.Deliveries {
				types = append(types, d.Type)
			}
		}
		b.finish(t, batches, delivered)
	}
	return types
}

// fill queues that many events of the type for the endpoint.
func (b box) fill(t *testing.T, e webhooks.Endpoint, n int, kind string) {
	t.Helper()
	b.Exec(t, `
		with v as (
		  insert into events (tenant_id, type, body) select $1, $2, '{}' from generate_series(1, $3::int) returning id
		) insert into deliveries (endpoint_id, tenant_id, event_id) select $4, $1, id from v`,
		e.TenantID, kind, n, e.ID)
}

// numbers are the numbers of deliveries in the batches.
func numbers(batches []webhooks.Batch) (list []int) {
	for _, b := range batches {
		list = append(list, len(b.Deliveries))
	}
	return list
}
