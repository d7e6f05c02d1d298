package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/webhooks"
)

// TestEndpoints: a tenant adds, reads, changes and removes endpoints, and each change is audited
// without what the tenant wrote.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	d := b.API.Endpoints
	e, err := d.Create(
		t.Context(),
		b.boss,
		webhooks.NewEndpoint{
			URL:         "https://quagga.example/",
			Events:      []string{"key.banned", "key.issued"},
			Description: "quagga",
		},
		seal("k1"),
		nil,
	)
	assert.NoError(t, err)
	want := webhooks.Endpoint{
		ID: e.ID, TenantID: b.acme.ID, Environment: keys.Live, URL: "https://quagga.example/",
		Events: []string{"key.banned", "key.issued"}, Description: "quagga", Status: webhooks.Pending,
		CreatedAt: e.CreatedAt, Version: 1,
	}
	assert.DeepEqual(t, e, want)
	second := b.endpoint(t, b.boss, "*")
	list, err := d.List(t.Context(), b.boss)
	assert.NoError(t, err)
	assert.DeepEqual(t, list, []webhooks.Endpoint{second, e})

	update := func(version int64, p webhooks.EndpointPatch) webhooks.Endpoint {
		t.Helper()
		got, err := d.Update(t.Context(), b.boss, e.ID, version, p)
		assert.NoError(t, err)
		want.Version++
		return got
	}
	want.Description, want.Events = "", []string{"*"}
	assert.DeepEqual(t, update(1, webhooks.EndpointPatch{Description: new(""), Events: new([]string{"*"})}), want)
	_, err = d.Update(t.Context(), b.boss, e.ID, 1, webhooks.EndpointPatch{Description: new("x")})
	assert.ErrorIs(t, err, webhooks.ErrChanged)
	b.Exec(t, `update endpoints set verified_at = now(), failing_since = now()`)
	want.Status, want.DisabledReason = webhooks.Disabled, "customer"
	disabled := update(0, webhooks.EndpointPatch{Enabled: new(false)})
	assert.True(t, !disabled.FailingSince.IsZero(), "it failed")
	want.FailingSince = disabled.FailingSince
	assert.DeepEqual(t, disabled, want)
	want.Status, want.DisabledReason, want.FailingSince = webhooks.Enabled, "", time.Time{}
	assert.DeepEqual(t, update(0, webhooks.EndpointPatch{Enabled: new(true)}), want)
	// Another URL must answer a ping, and one under way to the former does not count.
	assert.NoError(t, fixture.ErrorOf(d.Test(t.Context(), b.boss, e.ID)))
	ping := b.claim(t)
	want.Status, want.URL = webhooks.Pending, "https://okapi.example/"
	assert.DeepEqual(t, update(0, webhooks.EndpointPatch{URL: &want.URL}), want)
	b.finish(t, ping, delivered)
	got, err := d.Get(t.Context(), b.boss, e.ID)
	assert.NoError(t, err)
	assert.DeepEqual(t, got, want)

	b.fill(t, e, 2, "key.issued")
	assert.NoError(t, d.Delete(t.Context(), b.boss, e.ID))
	assert.ErrorIs(t, d.Delete(t.Context(), b.boss, e.ID), webhooks.ErrNotFound)
	b.Want(t, "1 2 1", `
		select (select count(*) from endpoints) || ' ' || (select count(*) from endpoint_slots) || ' ' || (
		  select count(*) from endpoint_secrets)`)
	b.Want(t, "create create edit edit edit test edit remove", `
		select string_agg(substr(action, 9), ' ' order by number) from audit_entries where action ~ 'webhook'`)
	b.Want(t, "0", `
		select count(*)::text from audit_entries
		where before::text || after::text ~ 'quagga|okapi' or claimed_actor !~ '^(key|jo)'`)
}

// TestWhoManagesEndpoints: only a key or a sign-in that manages keys does, for its tenant. A test
// key sees none of production.
func TestWhoManagesEndpoints(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	d := b.API.Endpoints
	live := b.endpoint(t, b.boss, "*")
	b.Tenant(t, "globex", plans.Free)
	stranger, tester := b.manager(t, "globex", keys.Live), b.manager(t, "acme", keys.Test)
	test := b.endpoint(t, tester, "*")
	assert.Equal(t, test.Environment, keys.Test)
	_, token := b.Issue(t, "acme")
	writer := webhooks.Requester{TenantID: b.acme.ID, Digest: token.Digest()}
	unknown := webhooks.Requester{TenantID: b.acme.ID, Digest: keys.Digest{9}}
	for _, c := range []struct {
		by   webhooks.Requester
		want error
	}{
		{stranger, webhooks.ErrNotFound}, {tester, webhooks.ErrNotFound}, {writer, keys.ErrRequesterScope},
		{unknown, keys.ErrRequester},
	} {
		off := webhooks.EndpointPatch{Enabled: new(false)}
		for name, err := range map[string]error{
			"get":    fixture.ErrorOf(d.Get(t.Context(), c.by, live.ID)),
			"update": fixture.ErrorOf(d.Update(t.Context(), c.by, live.ID, 0, off)),
			"delete": d.Delete(t.Context(), c.by, live.ID),
			"rotate": fixture.ErrorOf(d.Rotate(t.Context(), c.by, live.ID, 0, seal("k1"))),
			"test":   fixture.ErrorOf(d.Test(t.Context(), c.by, live.ID)),
			"retry":  fixture.ErrorOf(d.Retry(t.Context(), c.by, live.ID, 1)),
			"replay": fixture.ErrorOf(d.Replay(t.Context(), c.by, live.ID, webhooks.Replay{})),
			"list":   fixture.ErrorOf(d.Deliveries(t.Context(), c.by, live.ID, 0, 10)),
		} {
			assert.ErrorIs(t, err, c.want, name)
		}
	}
	for _, by := range []webhooks.Requester{writer, unknown} {
		_, err := d.List(t.Context(), by)
		assert.True(t, err != nil, "a list for one that may not")
		_, err = d.Create(
			t.Context(),
			by,
			webhooks.NewEndpoint{URL: "https://x", Events: []string{"*"}},
			seal("k1"),
			nil,
		)
		assert.True(t, err != nil, "an endpoint of one that may not")
	}
	list, err := d.List(t.Context(), tester)
	assert.NoError(t, err)
	assert.DeepEqual(t, list, []webhooks.Endpoint{test})
	list, err = d.List(t.Context(), b.boss)
	assert.NoError(t, err)
	assert.Equal(t, len(list), 2, "endpoints that a live key sees")
}

// TestBounds: a tenant has five endpoints, also if it adds many at once, and 20 pings an hour to
// those that are pending. With an idempotency key an endpoint is added once.
func TestBounds(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	d := b.API.Endpoints
	add := func(ctx context.Context, once *catalog.Idempotency) (webhooks.Endpoint, error) {
		return d.Create(ctx, b.boss, webhooks.NewEndpoint{URL: "https://x", Events: []string{"*"}}, seal("k1"), once)
	}
	r := catalog.Idempotency{Method: "POST", Path: "/v1/webhooks", Key: "k", At: time.Now()}
	e, err := add(t.Context(), &r)
	assert.NoError(t, err)
	_, err = add(t.Context(), &r)
	var already *webhooks.AlreadyAddedError
	if !errors.As(err, &already) || already.ID != e.ID {
		t.Errorf("a repetition: %v", err)
	}
	fixture.AtOnce(t, 8, webhooks.MaxEndpoints-1, webhooks.ErrTooMany, func(int) error {
		return fixture.ErrorOf(add(t.Context(), nil))
	})
	for range webhooks.MaxPendingPings {
		assert.NoError(t, fixture.ErrorOf(d.Test(t.Context(), b.boss, e.ID)))
	}
	assert.ErrorIs(t, fixture.ErrorOf(d.Test(t.Context(), b.boss, e.ID)), webhooks.ErrManyPings)
	b.Exec(t, `update events set created_at = now() - interval '61 minutes' where id = (select id from events limit 1)`)
	assert.NoError(t, fixture.ErrorOf(d.Test(t.Context(), b.boss, e.ID)))
	b.Exec(t, `update endpoints set verified_at = now() where id = $1`, e.ID)
	assert.NoError(t, fixture.ErrorOf(d.Test(t.Context(), b.boss, e.ID)), "a ping to an enabled endpoint")
	_, err = d.Update(t.Context(), b.boss, e.ID, 0, webhooks.EndpointPatch{Enabled: new(false)})
	assert.NoError(t, err)
	assert.ErrorIs(t, fixture.ErrorOf(d.Test(t.Context(), b.boss, e.ID)), webhooks.ErrDisabled)
}

// TestDeliveries: the page of deliveries has those of 7 days and those that wait, the newest first.
// A retry makes one that waits due at once, unless it may be under way, and sends another one again.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	d := b.API.Endpoints
	e := b.enabled(t, "*")
	b.fill(t, e, 4, "key.issued")
	batches := b.claim(t)
	list := results(batches, func(r *webhooks.Result) {
		switch r.DeliveryID % 4 {
		case 0:
			failed(r)
		case 1:
			r.Outcome, r.Status, r.Said = webhooks.Gone, 410, "it is gone"
		case 2:
			r.Outcome = webhooks.Returned
		}
	})
	assert.NoError(t, b.API.Outbox.Finish(t.Context(), holder, list))
	b.Exec(t, `update endpoints set disabled_reason = null`)
	page := func(before int64, limit int) []webhooks.SentDelivery {
		t.Helper()
		sent, err := d.Deliveries(t.Context(), b.boss, e.ID, before, limit)
		assert.NoError(t, err)
		return sent
	}
	all := page(0, 10)
	assert.Equal(t, len(all), 4, "deliveries")
	assert.DeepEqual(t, page(all[1].ID, 2), all[2:])
	byKind := map[int64]webhooks.SentDelivery{}
	for _, s := range all {
		byKind[s.ID%4] = s
	}
	if s := byKind[0]; s.Status != "waiting" || s.DueAt.IsZero() || len(s.Attempts) != 1 ||
		s.Attempts[0].Status != 500 {
		t.Errorf("one that failed: %+v", s)
	}
	if s := byKind[1]; !s.DueAt.IsZero() || s.Status != "failed" || s.Attempts[0].Said != "it is gone" {
		t.Errorf("one that is gone: %+v", s)
	}
	if s := byKind[3]; !s.DueAt.IsZero() || s.Status != "delivered" {
		t.Errorf("one that was delivered: %+v", s)
	}
	retry := func(id int64) webhooks.SentDelivery {
		t.Helper()
		s, err := d.Retry(t.Context(), b.boss, e.ID, id)
		assert.NoError(t, err)
		return s
	}
	// It is due in 5 s, so it may be under way.
	assert.Equal(t, retry(byKind[0].ID).DueAt, byKind[0].DueAt)
	b.Exec(t, `update deliveries set due_at = now() + interval '1 hour' where id = $1`, byKind[0].ID)
	if s := retry(byKind[0].ID); s.ID != byKind[0].ID || time.Until(s.DueAt) > time.Minute {
		t.Errorf("a retry of one that waits: %+v", s)
	}
	again := retry(byKind[3].ID)
	if again.ID <= all[0].ID || again.EventID != byKind[3].EventID || again.Status != "waiting" {
		t.Errorf("a retry of one that was delivered: %+v", again)
	}
	_, err := d.Retry(t.Context(), b.boss, e.ID, again.ID+1)
	assert.ErrorIs(t, err, webhooks.ErrDeliveryNotFound)
	b.Exec(t, `update deliveries set created_at = now() - interval '8 days'`)
	for _, s := range page(0, 10) {
		assert.True(t, s.Status == "waiting", "done 8 days ago", s)
	}
}

// TestReplay: a replay sends what the endpoint wants and has not got, within its bounds, with the
// events' own IDs, once; with all set also what was delivered.
func TestReplay(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	d := b.API.Endpoints
	e := b.enabled(t, "key.issued", "key.revoked")
	b.fill(t, e, 2, "key.issued")
	b.deliver(t)
	b.fill(t, e, 1, "key.issued")
	b.finish(t, b.claim(t), func(r *webhooks.Result) { r.Attempt = 10; failed(r) })
	b.Exec(t, `update endpoints set disabled_reason = 'customer'`)
	other, _ := b.Issue(t, "acme")
	assert.NoError(t, fixture.ErrorOf(b.Keys.Revoke(t.Context(), fixture.Jo, other.ID, time.Now())))
	b.Exec(t, `
		insert into events (tenant_id, environment, type, body, created_at) values
		($1, 'test', 'key.issued', '{}', now()), ($1, 'live', 'key.banned', '{}', now()),
		($1, 'live', 'key.issued', '{}', now() - interval '31 days')`, b.acme.ID)
	_, err := d.Replay(t.Context(), b.boss, e.ID, webhooks.Replay{})
	assert.ErrorIs(t, err, webhooks.ErrDisabled)
	b.Exec(t, `update endpoints set disabled_reason = null`)
	replay := func(r webhooks.Replay) int64 {
		t.Helper()
		n, err := d.Replay(t.Context(), b.boss, e.ID, r)
		assert.NoError(t, err)
		return n
	}
	assert.Equal(t, replay(webhooks.Replay{Since: time.Now().Add(time.Minute)}), 0)
	assert.Equal(t, replay(webhooks.Replay{Until: time.Now().Add(-time.Minute)}), 0)
	assert.Equal(t, replay(webhooks.Replay{Types: []string{"key.revoked"}}), 1)
	assert.Equal(t, replay(webhooks.Replay{}), 2)
	assert.Equal(t, replay(webhooks.Replay{}), 0, "what waits already")
	got := b.deliver(t)
	if slices.Sort(got); !slices.Equal(got, []string{"key.issued", "key.issued", "key.revoked"}) {
		t.Errorf("replayed %v", got)
	}
	assert.Equal(t, replay(webhooks.Replay{}), 0, "what was delivered")
	assert.Equal(t, replay(webhooks.Replay{All: true}), 5)
	b.Want(t, "5", `select count(*)::text from (select from deliveries group by event_id having count(*) > 1) v`)
	b.deliver(t)
	b.Exec(t, `update endpoints set events = '{*}'`)
	assert.NoError(t, fixture.ErrorOf(d.Test(t.Context(), b.boss, e.ID)))
	b.deliver(t)
	assert.Equal(t, replay(webhooks.Replay{All: true}), 6, "with key.banned, without the ping")
}

// TestLateChangesOfEndpoints: a change of an endpoint that was answered with 503 does not happen.
func TestLateChangesOfEndpoints(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.endpoint(t, b.boss, "*")
	slow := storetest.Open(t, b.APIURL, store.Options{AsAPI: true, Timeout: fixture.ShortTimeout})
	tx := b.Owner.MustBegin()
	tx.MustExec(`select from endpoints for update`)
	_, err := slow.Endpoints.Update(t.Context(), b.boss, e.ID, 0, webhooks.EndpointPatch{Description: new("late")})
	assert.ErrorIs(t, err, store.ErrUnavailable)
	assert.NoError(t, tx.Rollback())
	b.Want(t, "1", `select version::text from endpoints`)
}

// TestStaffWebhooks: support sees endpoints and what waits, sends pings and replays, and disables,
// each with an audit entry.
func TestStaffWebhooks(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.enabled(t, "*")
	b.other(t)
	b.fill(t, e, 2, "key.issued")
	b.finish(t, b.claim(t), failed)
	d := b.StaffWebhooks
	list, err := d.List(t.Context(), "acme")
	assert.NoError(t, err)
	if len(list) != 1 || list[0].ID != e.ID || list[0].Tenant != "acme" || list[0].Waiting != 2 ||
		list[0].FailingSince.IsZero() {
		t.Errorf("%+v", list)
	}
	list, err = d.List(t.Context(), "")
	assert.NoError(t, err)
	assert.Equal(t, len(list), 2, "endpoints of all tenants")
	got, err := d.Get(t.Context(), e.ID)
	assert.NoError(t, err)
	assert.Equal(t, got.URL, e.URL)
	sent, err := d.Deliveries(t.Context(), e.ID, 10)
	assert.NoError(t, err)
	assert.Equal(t, len(sent), 2, "deliveries")

	ping, err := d.Test(t.Context(), fixture.Jo, e.ID)
	assert.NoError(t, err)
	sent, err = d.Deliveries(t.Context(), e.ID, 10)
	assert.NoError(t, err)
	assert.Equal(t, sent[0].ID, ping)
	assert.Equal(t, sent[0].Type, "ping")
	n, err := d.Replay(t.Context(), fixture.Dry, e.ID, webhooks.Replay{All: true})
	assert.Result(t, n, err, 0)
	before, after, err := d.Disable(t.Context(), fixture.Jo, e.ID)
	assert.NoError(t, err)
	assert.Equal(t, before.Status, webhooks.Enabled)
	assert.Equal(t, after.Status, webhooks.Disabled)
	assert.Equal(t, after.DisabledReason, "support")
	before, after, err = d.Disable(t.Context(), fixture.Jo, e.ID)
	assert.NoError(t, err)
	assert.DeepEqual(t, before, after)
	for name, err := range map[string]error{
		"get": fixture.ErrorOf(d.Get(t.Context(), 99)), "test": fixture.ErrorOf(d.Test(t.Context(), fixture.Jo, 99)),
		"replay": fixture.ErrorOf(d.Replay(t.Context(), fixture.Jo, 99, webhooks.Replay{})),
	} {
		assert.ErrorIs(t, err, webhooks.ErrNotFound, name)
	}
	_, _, err = d.Disable(t.Context(), fixture.Jo, 99)
	assert.ErrorIs(t, err, webhooks.ErrNotFound)
	_, err = d.Replay(t.Context(), fixture.Jo, e.ID, webhooks.Replay{})
	assert.ErrorIs(t, err, webhooks.ErrDisabled)
	b.Want(t, fmt.Sprintf("webhook.test webhook:%d, webhook.disable webhook:%d", e.ID, e.ID), `
		select string_agg(action || ' ' || subject, ', ' order by number) from audit_entries
		where action ~ 'webhook' and claimed_actor = 'jo@support-3'`)
}
