package webhooks_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/webhooks"
)

// happening is a change, with the events that it has.
type happening struct {
	name   string
	change func() error
	events []string
}

// sql is a change by the owner, as in psql.
func (b box) sql(query string, args ...any) func() error {
	return func() error {
		_, err := b.Owner.Exec(query, args...)
		return err
	}
}

// news returns the types of the events since the last call, in order, and forgets them.
func (b box) news(t *testing.T) (types []string) {
	t.Helper()
	b.Rows(t, &types, `with gone as (delete from events returning type, created_at) select type from gone order by 1`)
	return types
}

func (b box) check(t *testing.T, list []happening) {
	t.Helper()
	b.news(t)
	for _, h := range list {
		assert.NoError(t, h.change(), h.name)
		if got := b.news(t); !slices.Equal(got, h.events) {
			t.Errorf("%s: events %v, want %v", h.name, got, h.events)
		}
	}
}

// TestKeysHaveTheirEvents: each change of a key has its event once, by whatever door it is made,
// and nothing else has one.
func TestKeysHaveTheirEvents(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.enabled(t, webhooks.Types...)
	k, _ := b.Issue(t, "acme")
	other, _ := b.Issue(t, "acme")
	now := time.Now().UTC().Truncate(time.Second)
	ban := func() error {
		return fixture.ErrorOf(b.Bans.Place(t.Context(), fixture.Jo,
			tenancy.NewBan{KeyID: k.ID, Length: time.Hour, Reason: "scraping"}, now))
	}
	lift := func() error { return fixture.ErrorOf(b.Bans.Lift(t.Context(), fixture.Jo, k.ID, now)) }
	b.check(t, []happening{
		{"issue", func() error {
			_, _, err := b.Service().Issue(t.Context(), fixture.Jo, fixture.IssueRequest("acme"))
			return err
		}, []string{"key.issued"}},
		{"issue in psql", b.sql(`select test_key($1, 'psql')`, b.acme.ID), []string{"key.issued"}},
		{"rename", func() error {
			_, _, err := b.Service().Edit(t.Context(), fixture.Jo, k.ID, keys.Edit{Name: new("nightly")})
			return err
		}, nil},
		{"use", b.sql(`update api_keys set last_used_at = now(), presented = true`), nil},
		{"nothing", b.sql(`update api_keys set revoked_at = revoked_at, expires_at = expires_at`), nil},
		{"ban", ban, []string{"key.banned"}},
		{"another ban in its place", ban, []string{"key.banned"}},
		{"one more in psql", b.sql(`
			insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at)
			values ($1, $2, 'staff', 'x', now(), now() + interval '1 day')`, b.acme.ID, k.ID), []string{"key.banned"}},
		{"rotate a banned key", func() error {
			_, _, err := b.Service().Rotate(t.Context(), fixture.Jo, k.ID, keys.Rotation{GracePeriod: time.Hour})
			return err
		}, []string{"key.banned", "key.issued", "key.rotated"}},
		{"lift one of two", b.sql(`update bans set lifted_at = now() where key_id = $1 and reason = 'x'`, k.ID), nil},
		{"lift", lift, []string{"key.unbanned"}},
		{"a ban that is over", b.sql(`
			insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at)
			values ($1, $2, 'staff', 'x', now() - interval '2 days', now() - interval '1 day')`, b.acme.ID, k.ID), nil},
		{"two at once", b.sql(`
			insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at)
			select $1, $2, 'staff', 'x', now(), now() + interval '1 day' from generate_series(1, 2)`, b.acme.ID, k.ID),
			[]string{"key.banned", "key.banned"}},
		{"lift both", lift, []string{"key.unbanned"}},
		{"revoke", func() error { return fixture.ErrorOf(b.Keys.Revoke(t.Context(), fixture.Jo, other.ID, now)) },
			[]string{"key.revoked"}},
		{"revoke again", b.sql(`update api_keys set revoked_at = revoked_at where id = $1`, other.ID), nil},
		{"retention", b.sql(`delete from bans; delete from api_keys where id = '` + other.ID + `'`), nil},
		{"a rollback", b.sql(`begin; select test_key(` + fmt.Sprint(b.acme.ID) + `, 'gone'); rollback`), nil},
	})
}

// TestTenantsHaveTheirEvents is that for suspensions and for the quota in force.
func TestTenantsHaveTheirEvents(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.enabled(t, "*")
	billing := storetest.Open(t, b.BillingURL, store.Options{})
	assign := func(n pricing.NewAssignment) func() error {
		return func() error {
			n.Tenant = "acme"
			return fixture.ErrorOf(b.Timelines.Assign(t.Context(), fixture.Jo, n))
		}
	}
	edit := func(plan string, perDay int64) func() error {
		return func() error {
			return fixture.ErrorOf(billing.Plans.Edit(t.Context(), fixture.Jo, plan, pricing.PlanEdit{
				Numbers: &plans.VersionEdit{PerDay: perDay},
			}))
		}
	}
	changed := []string{"plan.changed"}
	b.check(t, []happening{
		{"suspend", func() error {
			return fixture.ErrorOf(b.Tenants.Suspend(t.Context(), fixture.Jo, "acme", time.Now()))
		}, []string{"tenant.suspended"}},
		{"suspend again", b.sql(`update tenants set suspended_at = suspended_at, name = name`), nil},
		{"resume", func() error { return fixture.ErrorOf(b.Tenants.Resume(t.Context(), fixture.Jo, "acme")) },
			[]string{"tenant.resumed"}},
		{"assign", assign(pricing.NewAssignment{Kind: plans.Assigned, Plan: plans.Business}), changed},
		{"boost for an hour", assign(pricing.NewAssignment{
			Kind: plans.Boost, Own: &plans.Quota{PerDay: 999_999},
			Until: func(from time.Time) time.Time { return from.Add(time.Hour) },
		}), changed},
		{"assign later", assign(pricing.NewAssignment{
			Kind: plans.Assigned, Plan: plans.Pro, From: time.Now().Add(24 * time.Hour),
		}), nil},
		{"a version of another plan", edit(plans.Free, 1001), nil},
		{"the same numbers", b.sql(`
			insert into tenant_plans (tenant_id, plan, per_minute, per_day, kind)
			select tenant_id, plan, per_minute, per_day, 'boost' from quota_periods
			where tenant_id = $1 and valid_from <= now() and valid_to > now()`, b.acme.ID), nil},
		{"assign in psql", b.sql(`insert into tenant_plans (tenant_id, plan) values ($1, 'pro')`, b.acme.ID), changed},
		{"a version", edit(plans.Pro, 20_000), changed},
	})
}

// TestTheCatalogueHasItsEvents is that for animals and orders.
func TestTheCatalogueHasItsEvents(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.enabled(t, "pet.created", "pet.updated", "order.created", "order.updated")
	create := func() (catalog.Pet, error) {
		return b.API.Pets.CreatePet(t.Context(), b.acme.ID,
			catalog.NewPet{Name: "Rex", CategoryID: 9007199254740993, Status: catalog.Available})
	}
	pet, err := create()
	assert.NoError(t, err)
	b.Want(
		t,
		fmt.Sprintf(`{"id": "%d", "name": "Rex", "status": "available", "categoryId": "9007199254740993"}`, pet.ID),
		`select body::json ->> 'data' from events`,
	)
	change := func(p catalog.PetPatch) func() error {
		return func() error { return fixture.ErrorOf(b.API.Pets.ChangePet(t.Context(), b.acme.ID, pet.ID, p)) }
	}
	var order catalog.Order
	b.check(t, []happening{
		{"create", func() error { return fixture.ErrorOf(create()) }, []string{"pet.created"}},
		{"rename", change(catalog.PetPatch{Name: new("Max")}), []string{"pet.updated"}},
		{"the same name", change(catalog.PetPatch{Name: new("Max")}), nil},
		{"order", func() (err error) {
			order, err = b.API.Orders.PlaceOrder(t.Context(), b.acme.ID, catalog.NewOrder{PetID: pet.ID, Quantity: 1})
			return err
		}, []string{"order.created", "pet.updated"}},
		{"approve", func() error {
			return fixture.ErrorOf(b.API.Orders.ChangeOrder(t.Context(), b.acme.ID, order.ID,
				catalog.OrderPatch{Status: catalog.Approved}))
		}, []string{"order.updated"}},
		{"create in psql", b.sql(`
			insert into pets (tenant_id, name, category_id, status, created_at)
			select $1, 'x', 1, 'sold', now() from generate_series(1, 3)`, b.acme.ID),
			[]string{"pet.created", "pet.created", "pet.created"}},
		{"change nothing", b.sql(`update pets set name = name; update orders set status = status`), nil},
		{"erase", b.sql(`delete from orders; delete from pets`), nil},
	})
}

// TestWhoIsTold: an event goes to the endpoints that want it, in its environment. Without one it is
// not stored. What happens while an endpoint is pending or disabled is kept, and not delivered.
func TestWhoIsTold(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Issue(t, "acme")
	b.Want(t, "0", `select count(*)::text from events`)
	all, some, off := b.enabled(t, "*"), b.enabled(t, "pet.created", "key.revoked"), b.enabled(t, "*")
	b.endpoint(t, b.boss, "*")
	test := b.endpoint(t, b.manager(t, "acme", keys.Test), "*", "pet.created")
	b.Exec(t, `update endpoints set verified_at = now(), events = '{*}' where id = $1`, test.ID)
	b.Exec(t, `update endpoints set disabled_reason = 'customer' where id = $1`, off.ID)
	b.Exec(t, `delete from events`)
	b.Issue(t, "acme")
	pet := catalog.NewPet{Name: "Rex", CategoryID: 1, Status: catalog.Sold}
	assert.NoError(t, fixture.ErrorOf(b.API.Pets.CreatePet(t.Context(), b.acme.ID, pet)))
	b.Tenant(t, "globex", plans.Free)
	b.Issue(t, "globex")
	b.Want(t, fmt.Sprintf("%d key.issued, %d pet.created", all.ID, some.ID), `
		select string_agg(d.endpoint_id || ' ' || v.type, ', ' order by d.endpoint_id)
		from deliveries d join events v on v.id = d.event_id`)
	b.Want(t, "2", `select count(*)::text from events`)
	var envelope struct {
		Type, Timestamp string
		Data            map[string]any
	}
	assert.NoError(t, json.Unmarshal([]byte(b.Text(t, `select body from events where type = 'key.issued'`)), &envelope))
	_, err := time.Parse(time.RFC3339Nano, envelope.Timestamp)
	if err != nil || envelope.Type != "key.issued" || envelope.Data["environment"] != "live" {
		t.Errorf("%+v, %v", envelope, err)
	}
}

// TestEventsOutsideTheTransactionAreFound: the checks of this file notice an event that is stored
// although its change was taken back.
func TestEventsOutsideTheTransactionAreFound(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.enabled(t, "*")
	b.Exec(t, `create extension dblink`)
	b.Exec(t, `
		create or replace function emit_key() returns trigger language plpgsql as $$
		begin
		  perform from dblink('`+b.URL+`', format('select 1 from (select emit(%s, %L, %L, ''{}'')) e',
		    new.tenant_id, new.environment, tg_argv[0])) as t (n int);
		  return null;
		end $$`)
	b.news(t)
	b.Exec(t, `begin; select test_key(`+fmt.Sprint(b.acme.ID)+`, 'gone'); rollback`)
	if got := b.news(t); !slices.Equal(got, []string{"key.issued"}) {
		t.Errorf("a rolled back change has the events %v, want the planted one", got)
	}
}
