package webhooks_test

import (
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/contract"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/webhooks"
)

var document = sync.OnceValues(func() (*contract.Document, error) {
	text, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		return nil, err
	}
	return contract.Load(text)
})

// conforms checks the stored events by the document, and returns their types.
func (b box) conforms(t *testing.T) (types []string) {
	t.Helper()
	d, err := document()
	assert.NoError(t, err)
	var list []struct{ Type, Body string }
	b.Rows(t, &list, `select type, body from events order by type`)
	for _, e := range list {
		assert.NoError(t, d.CheckEvent(e.Type, []byte(e.Body)))
		types = append(types, e.Type)
	}
	return slices.Compact(types)
}

// TestEventsAreAsDocumented: each type of event that there is has the members of its schema in
// openapi.yaml, and no other.
func TestEventsAreAsDocumented(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	e, other := l.enabled(t, webhooks.Types...), l.enabled(t, "*")
	replacement, _, err := l.Service().Rotate(
		t.Context(),
		fixture.Jo,
		l.key,
		keys.Rotation{GracePeriod: 26 * time.Hour},
	)
	assert.NoError(t, err)
	l.Ban(t, replacement.New.ID, time.Hour, time.Now())
	l.quota(t, 10, "20", "unlimited")
	l.record(t, first, 30)
	l.Exec(t, `update endpoints set created_at = now() - interval '1 year'`)
	l.Exec(t, `
		update bans set lifted_at = now();
		update api_keys set expires_at = now() + interval '1 hour';
		update api_keys set revoked_at = now() where id = '`+replacement.New.ID+`';
		update tenants set suspended_at = now();
		update tenants set suspended_at = null;
		insert into tenant_plans (tenant_id, plan, valid_from) select id, 'free', now() + interval '1 day' from tenants;
		insert into pets (tenant_id, name, category_id, status, created_at)
		select id, 'Rex', 9007199254740993, 'available', now() from tenants;
		insert into orders (tenant_id, pet_id, quantity, status, created_at)
		select tenant_id, id, 1, 'placed', now() from pets;
		update pets set status = 'sold';
		update orders set status = 'approved';
		update endpoints set failing_since = now() - interval '2 days', noticed_at = now()`)
	assert.NoError(t, l.API.Outbox.Tell(t.Context()))
	l.Exec(t, `update endpoints set disabled_reason = 'gone' where id = $1`, other.ID)
	assert.NoError(t, l.API.Outbox.Tell(t.Context()))
	assert.NoError(t, fixture.ErrorOf(l.API.Endpoints.Test(t.Context(), l.boss, e.ID)))
	l.Exec(t, `select prune_outbox(1, 0)`)
	billing := storetest.Open(t, l.BillingURL, store.Options{})
	assert.NoError(t, fixture.ErrorOf(billing.Months.Close(t.Context(), fixture.Bill, first, []string{"s1"})))
	d, err := document()
	assert.NoError(t, err)
	assert.DeepEqual(t, l.conforms(t), d.Events())
}

// TestClosedMonthsAreTold: when a month is sealed, those with a line of it are told of the seal.
func TestClosedMonthsAreTold(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.enabled(t, "*")
	l.other(t)
	l.record(t, first, 3)
	billing := storetest.Open(t, l.BillingURL, store.Options{})
	l.news(t)
	month, err := billing.Months.Close(t.Context(), fixture.Bill, first, []string{"s1"})
	assert.NoError(t, err)
	l.Want(t, "month.closed of acme: "+month.Sums.SHA256.String()+" 2025-10", `
		select string_agg(concat(v.type, ' of ', t.name, ': ', v.body::json #>> '{data,sha256}', ' ',
		  v.body::json #>> '{data,month}'), ', ') from events v join tenants t on t.id = v.tenant_id`)
	l.Want(t, "1", `select count(*)::text from deliveries`)
}
