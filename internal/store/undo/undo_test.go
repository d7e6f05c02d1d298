package undo_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/store/undo"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// undoEnv is an office with a tenant, a key and a plan for one case.
type undoEnv struct {
	fixture.Office
	billing, owner *store.DB
	tenant, plan   string
	key            keys.Key
	// scheduled is an assignment that has not begun.
	scheduled int64
}

// undoCase is a change, and another one of the same thing.
type undoCase struct {
	// action is that of the last entry of the change.
	action string
	name   string
	// before prepares the change; nil for nothing.
	before        func(*testing.T, *undoEnv)
	change, later func(context.Context, *undoEnv, audit.By) error
	// inBilling is set for what billing takes back.
	inBilling bool
	// final is why the undo can't be taken back; "" if it can.
	final string
}

func (e *undoEnv) db(c undoCase) *store.DB {
	if c.inBilling {
		return e.billing
	}
	return e.DB
}

// service has a clock that goes: an undo of an expiry looks at the clock of the database.
func (e *undoEnv) service() *keys.Service { return &keys.Service{Store: e.Keys, Clock: time.Now} }

// ownPlan stands for the plan of the case.
const ownPlan = "own"

// Parts of cases.

func suspend(ctx context.Context, e *undoEnv, by audit.By) error {
	_, err := e.Tenants.Suspend(ctx, by, e.tenant, time.Time{})
	return err
}

func resume(ctx context.Context, e *undoEnv, by audit.By) error {
	_, err := e.Tenants.Resume(ctx, by, e.tenant)
	return err
}

func editTenant(ref, email string) func(context.Context, *undoEnv, audit.By) error {
	return func(ctx context.Context, e *undoEnv, by audit.By) error {
		_, _, err := e.Tenants.Edit(ctx, by, e.tenant, tenancy.TenantEdit{BillingRef: &ref, Email: &email})
		return err
	}
}

// editProfile renames the tenant, with an end to its name.
func editProfile(end, contact, notes string) func(context.Context, *undoEnv, audit.By) error {
	return func(ctx context.Context, e *undoEnv, by audit.By) error {
		name := e.tenant + end
		_, _, err := e.Tenants.Edit(
			ctx,
			by,
			fmt.Sprintf("#%d", e.key.TenantID),
			tenancy.TenantEdit{Name: &name, Contact: &contact, Notes: &notes},
		)
		return err
	}
}

func editKey(name string, perMinute int64) func(context.Context, *undoEnv, audit.By) error {
	return func(ctx context.Context, e *undoEnv, by audit.By) error {
		_, _, err := e.service().Edit(ctx, by, e.key.ID, keys.Edit{Name: &name, PerMinute: &perMinute})
		return err
	}
}

// editExpiry changes the key's name, and its expiry to one that long from now.
func editAccess(scope keys.Scope, allowed keys.Ranges) func(context.Context, *undoEnv, audit.By) error {
	return func(ctx context.Context, e *undoEnv, by audit.By) error {
		_, _, err := e.service().Edit(ctx, by, e.key.ID, keys.Edit{Scope: &scope, Allowed: &allowed})
		return err
	}
}

func editExpiry(name string, in time.Duration) func(context.Context, *undoEnv, audit.By) error {
	return func(ctx context.Context, e *undoEnv, by audit.By) error {
		at := time.Now().Add(in)
		_, _, err := e.service().Edit(ctx, by, e.key.ID, keys.Edit{Name: &name, ExpiresAt: &at})
		return err
	}
}

func revoke(ctx context.Context, e *undoEnv, by audit.By) error {
	_, err := e.service().Revoke(ctx, by, e.key.ID)
	return err
}

func unrevoke(ctx context.Context, e *undoEnv, by audit.By) error {
	_, err := e.Keys.Unrevoke(ctx, by, e.key.ID, time.Now())
	return err
}

func rotate(grace time.Duration) func(context.Context, *undoEnv, audit.By) error {
	return func(ctx context.Context, e *undoEnv, by audit.By) error {
		_, _, err := e.service().Rotate(ctx, by, e.key.ID, keys.Rotation{GracePeriod: grace})
		return err
	}
}

func placeBan(length time.Duration) func(context.Context, *undoEnv, audit.By) error {
	return func(ctx context.Context, e *undoEnv, by audit.By) error {
		_, err := e.Bans.Place(
			ctx,
			by,
			tenancy.NewBan{KeyID: e.key.ID, Length: length, Reason: "abuse of " + length.String()},
			time.Now(),
		)
		return err
	}
}

func liftBan(ctx context.Context, e *undoEnv, by audit.By) error {
	_, err := e.Bans.Lift(ctx, by, e.key.ID, time.Now())
	return err
}

func automaticBan(ctx context.Context, e *undoEnv, _ audit.By) error {
	_, err := e.API.Bans.PlaceAutomaticBan(ctx, e.key.TenantID, e.key.ID)
	return err
}

func issueKey(ctx context.Context, e *undoEnv, by audit.By) (err error) {
	e.key, _, err = e.service().Issue(ctx, by, fixture.IssueRequest(e.tenant))
	return err
}

func assign(n pricing.NewAssignment) func(context.Context, *undoEnv, audit.By) error {
	return func(ctx context.Context, e *undoEnv, by audit.By) error {
		n.Tenant = e.tenant
		if n.Plan == ownPlan {
			n.Plan = e.plan
		}
		if n.Kind == "" {
			n.Kind = plans.Assigned
		}
		done, err := e.Timelines.Assign(ctx, by, n)
		e.scheduled = done.Assignment.ID
		return err
	}
}

func boostFor(length time.Duration) pricing.NewAssignment {
	return pricing.NewAssignment{
		Kind:  plans.Boost,
		Own:   &plans.Quota{PerMinute: 5000, PerDay: 50_000},
		Until: func(from time.Time) time.Time { return from.Add(length) },
	}
}

// boostMonth boosts the month alone.
func boostMonth(m plans.Month) pricing.NewAssignment {
	n := boostFor(time.Hour)
	n.Own = &plans.Quota{Month: m}
	return n
}

// later is the assignment five days later.
func later(n pricing.NewAssignment) pricing.NewAssignment {
	n.From = inDays(5)
	return n
}

func month(included int64, overage string) plans.Month {
	o, err := plans.ParseOverage(overage)
	if err != nil {
		panic(err)
	}
	return plans.Month{Kind: plans.SomeMonth, Included: included, Overage: o}
}

func inDays(days int) time.Time { return time.Now().AddDate(0, 0, days).UTC().Truncate(time.Hour) }

func unschedule(ctx context.Context, e *undoEnv, by audit.By) error {
	_, err := e.Timelines.Unschedule(ctx, by, e.scheduled)
	return err
}

func unscheduleEnd(ctx context.Context, e *undoEnv, by audit.By) error {
	list, err := store.Collect(e.Timelines.Schedule(ctx, e.tenant, 0, 9))
	if err != nil {
		return err
	}
	_, err = e.Timelines.Unschedule(ctx, by, list[len(list)-1].Assignment)
	return err
}

func voidAssignment(undo bool) func(context.Context, *undoEnv, audit.By) error {
	return func(ctx context.Context, e *undoEnv, by audit.By) error {
		t, err := e.Tenants.Get(ctx, e.tenant)
		if err != nil {
			return err
		}
		if by.Reason == "" {
			by.Reason = "a mistake"
		}
		_, err = e.billing.Timelines.Void(ctx, by, t.Assignment, undo)
		return err
	}
}

func editPlan(edit plans.VersionEdit) func(context.Context, *undoEnv, audit.By) error {
	return func(ctx context.Context, e *undoEnv, by audit.By) error {
		_, err := e.billing.Plans.Edit(ctx, by, e.plan, pricing.PlanEdit{Numbers: &edit})
		return err
	}
}

func editPrice(price string) func(context.Context, *undoEnv, audit.By) error {
	return func(ctx context.Context, e *undoEnv, by audit.By) error {
		title, unlisted := "title of "+price, strings.HasPrefix(price, "9")
		_, err := e.billing.Plans.Edit(ctx, by, e.plan, pricing.PlanEdit{
			Price: &price, Title: &title, Unlisted: &unlisted,
		})
		return err
	}
}

func withdraw(ctx context.Context, e *undoEnv, by audit.By) error {
	_, err := e.billing.Plans.Withdraw(ctx, by, e.plan, 0)
	return err
}

// sendEvent records an event as sent to another reference than the tenant's present one.
func sendEvent(t *testing.T, e *undoEnv) {
	t.Helper()
	e.Exec(t, `
		insert into receivers (name, format, begins) values ('stripe', 'stripe', '2026-11-01Z') on conflict do nothing`)
	e.Exec(t, `
		insert into sent_events (receiver, hour, tenant_id, assignment, correction, event_id, format, counted_at,
			billing_ref, version, admitted, refused)
		select 'stripe', date_trunc('hour', now()), tenant_id, id, 0, gen_random_uuid(), 'stripe',
			date_trunc('hour', now()), 'cus_mistyped', 1, 9, 0 from tenant_plans where tenant_id = $1`, e.key.TenantID)
	first(editTenant("cus_right", ""))(t, e)
}

func resend(ctx context.Context, e *undoEnv, by audit.By) error {
	now := time.Now()
	_, err := e.billing.Events.Resend(ctx, by, billing.ResendQuery{
		Tenant: e.tenant, Receiver: "stripe", Since: now.Add(-2 * time.Hour), Until: now.Add(time.Hour), Now: now,
	})
	return err
}

func waive(ctx context.Context, e *undoEnv, by audit.By) error {
	_, err := e.billing.Events.Waive(ctx, by, e.tenant, "stripe", time.Now().Truncate(time.Hour))
	return err
}

func retire(at time.Time) func(context.Context, *undoEnv, audit.By) error {
	return func(ctx context.Context, e *undoEnv, by audit.By) error {
		_, err := e.billing.Plans.Retire(ctx, by, e.plan, at)
		return err
	}
}

func resell(ctx context.Context, e *undoEnv, by audit.By) error {
	_, err := e.billing.Plans.Resell(ctx, by, e.plan)
	return err
}

func move(ctx context.Context, e *undoEnv, by audit.By) error {
	moved, err := e.Plans.Move(ctx, by, e.plan, []int64{e.key.TenantID})
	if err == nil && len(moved) != 1 {
		err = fmt.Errorf("%d tenants were moved", len(moved))
	}
	return err
}

// first makes changes before that of the case.
func first(changes ...func(context.Context, *undoEnv, audit.By) error) func(*testing.T, *undoEnv) {
	return func(t *testing.T, e *undoEnv) {
		t.Helper()
		for _, change := range changes {
			assert.NoError(t, change(t.Context(), e, fixture.Jo))
		}
	}
}

var undoCases = []undoCase{
	{action: "tenant.edit", change: editTenant("cus_1", "a@example.com"), later: editTenant("cus_2", "b@example.com")},
	{
		action: "tenant.edit",
		name:   "of another value",
		before: first(editTenant("cus_1", "a@example.com")),
		change: editTenant("cus_1", ""),
		later:  editTenant("cus_1", "c@example.com"),
	},
	{
		action: "tenant.edit",
		name:   "of name and profile",
		before: first(editProfile("-1", "Jo", "")),
		change: editProfile("-2", "", "x"),
		later:  editProfile("-3", "Al", ""),
	},
	{action: "tenant.suspend", change: suspend, later: resume},
	{action: "tenant.resume", before: first(suspend), change: resume, later: suspend},
	{action: "key.issue", change: issueKey, later: revoke},
	{action: "key.edit", change: editKey("nightly", 50), later: editKey("hourly", 60)},
	{
		action: "key.edit",
		name:   "back",
		before: first(editKey("nightly", 50)),
		change: editKey("", 0),
		later:  editKey("", 70),
	},
	{action: "key.issue", name: "by a rotation", change: rotate(time.Hour), later: editKey("", 70)},
	{action: "key.issue", name: "by a rotation without a grace period", change: rotate(0), final: "would end at once"},
	{
		action: "key.edit",
		name:   "of scope and addresses",
		before: first(editAccess(keys.ScopeRead, "192.0.2.0/24")),
		change: editAccess(keys.ScopeWrite, ""),
		later:  editAccess(keys.ScopeWrite, "::1"),
	},
	{
		action: "key.edit",
		name:   "to a scope and addresses",
		change: editAccess(keys.ScopeRead, "192.0.2.0/24,::1"),
		later:  editAccess(keys.ScopeRead, ""),
	},
	{
		action: "key.edit",
		name:   "of name and expiry",
		change: editExpiry("nightly", time.Hour),
		later:  editExpiry("nightly", 2*time.Hour),
	},
	{
		action: "ban.place",
		name:   "carried by a rotation",
		before: first(placeBan(2 * time.Hour)),
		change: rotate(time.Hour),
	},
	{action: "key.revoke", change: revoke, later: unrevoke},
	{action: "key.unrevoke", before: first(revoke), change: unrevoke, later: revoke},
	{action: "ban.place", change: placeBan(time.Hour), later: placeBan(2 * time.Hour)},
	{
		action: "ban.place",
		name:   "in place of another",
		before: first(placeBan(3 * time.Hour)),
		change: placeBan(time.Hour),
		later:  liftBan,
	},
	{action: "ban.place", name: "by a server", change: automaticBan, later: liftBan},
	{action: "ban.lift", before: first(placeBan(time.Hour)), change: liftBan, later: automaticBan},
	{
		action: "plan.assign",
		change: assign(pricing.NewAssignment{Plan: plans.Business}),
		later:  assign(pricing.NewAssignment{Plan: plans.Free}),
	},
	{
		action: "plan.assign",
		name:   "over a boost",
		before: first(assign(boostFor(time.Hour))),
		change: assign(pricing.NewAssignment{Plan: plans.Business}),
		later:  assign(boostFor(2 * time.Hour)),
	},
	{
		action: "plan.assign",
		name:   "of own numbers",
		change: assign(pricing.NewAssignment{Plan: plans.Enterprise, Own: &plans.Quota{PerMinute: 7, PerDay: 70}}),
		later:  assign(pricing.NewAssignment{Plan: plans.Free}),
	},
	{
		action: "plan.assign",
		name:   "from own numbers",
		before: first(
			assign(pricing.NewAssignment{Plan: plans.Enterprise, Own: &plans.Quota{PerMinute: 7, PerDay: 70}}),
		),
		change: assign(pricing.NewAssignment{Plan: plans.Pro}),
	},
	{
		action: "plan.assign",
		name:   "that has not begun",
		change: assign(pricing.NewAssignment{Plan: plans.Business, From: inDays(5)}),
		later:  assign(pricing.NewAssignment{Plan: plans.Free, From: inDays(6)}),
	},
	{
		action: "plan.assign",
		name:   "from a retired plan",
		before: first(assign(pricing.NewAssignment{Plan: ownPlan}), retire(time.Time{})),
		change: assign(pricing.NewAssignment{Plan: plans.Business}),
	},
	{action: "plan.boost", change: assign(boostFor(time.Hour)), later: assign(pricing.NewAssignment{Plan: plans.Free})},
	{
		action: "plan.boost",
		name:   "of a month",
		change: assign(boostMonth(month(90_000, "5%"))),
		later:  assign(pricing.NewAssignment{Plan: plans.Free}),
	},
	{
		action: "plan.unschedule",
		name:   "of a boost of the month",
		before: first(assign(later(boostMonth(month(90_000, "5%"))))),
		change: unschedule,
		later:  assign(boostFor(time.Hour)),
	},
	{
		action: "plan.unschedule",
		name:   "of a boost without a month",
		before: first(
			assign(pricing.NewAssignment{
				Plan: plans.Enterprise, Own: &plans.Quota{PerMinute: 7, PerDay: 70, Month: month(90_000, "5%")},
			}),
			assign(later(boostMonth(plans.Month{Kind: plans.NoMonth}))),
		),
		change: unschedule,
		later:  assign(boostFor(time.Hour)),
	},
	{
		action: "plan.unschedule",
		name:   "of a boost of the overage",
		before: first(
			assign(pricing.NewAssignment{
				Plan: plans.Enterprise, Own: &plans.Quota{PerMinute: 7, PerDay: 70, Month: month(90_000, "5%")},
			}),
			assign(later(boostMonth(plans.Month{Overage: plans.Overage{Kind: plans.NoOverage}}))),
		),
		change: unschedule,
		later:  assign(boostFor(time.Hour)),
	},
	{
		action: "plan.unschedule",
		before: first(assign(pricing.NewAssignment{Plan: plans.Business, From: inDays(5)})),
		change: unschedule,
		later:  assign(boostFor(time.Hour)),
	},
	{
		action: "plan.unschedule",
		name:   "of own numbers",
		before: first(
			assign(
				pricing.NewAssignment{
					Plan: plans.Enterprise,
					Own:  &plans.Quota{PerMinute: 7, PerDay: 70},
					From: inDays(5),
				},
			),
		),
		change: unschedule,
	},
	{
		action: "plan.unschedule",
		name:   "of an end",
		before: first(assign(boostFor(time.Hour))),
		change: unscheduleEnd,
		later:  assign(pricing.NewAssignment{Plan: plans.Free}),
	},
	{
		action: "plan.move",
		before: first(
			assign(pricing.NewAssignment{Plan: ownPlan}),
			editPlan(plans.VersionEdit{PerMinute: 20, KeepExisting: true}),
		),
		change: move,
		later:  assign(pricing.NewAssignment{Plan: plans.Free}),
	},
	{action: "usage.resend", inBilling: true, before: sendEvent, change: resend, final: "resend it again"},
	{action: "usage.waive", inBilling: true, before: sendEvent, change: waive, final: "waive it again"},
	{action: "plan.void", inBilling: true, change: voidAssignment(false), later: voidAssignment(true)},
	{
		action:    "plan.unvoid",
		inBilling: true,
		before:    first(voidAssignment(false)),
		change:    voidAssignment(true),
		later:     voidAssignment(false),
	},
	{
		action:    "plan.edit",
		inBilling: true,
		change:    editPlan(plans.VersionEdit{PerMinute: 20}),
		later:     editPlan(plans.VersionEdit{PerMinute: 30}),
	},
	{
		action:    "plan.edit",
		name:      "that has not begun",
		inBilling: true,
		change:    editPlan(plans.VersionEdit{PerMinute: 20, From: inDays(3)}),
		later:     editPlan(plans.VersionEdit{PerMinute: 30, From: inDays(4)}),
	},
	{
		action:    "plan.edit",
		name:      "of a month",
		inBilling: true,
		before:    first(editPlan(plans.VersionEdit{Month: month(50_000, "20%")})),
		change:    editPlan(plans.VersionEdit{Month: plans.Month{Kind: plans.NoMonth}}),
		later:     editPlan(plans.VersionEdit{Month: month(60_000, "none")}),
	},
	{
		action:    "plan.edit",
		name:      "of an overage",
		inBilling: true,
		before:    first(editPlan(plans.VersionEdit{Month: month(50_000, "20%")})),
		change: editPlan(
			plans.VersionEdit{Month: plans.Month{Overage: plans.Overage{Kind: plans.OverageUnlimited}}},
		),
		later: editPlan(plans.VersionEdit{Month: month(60_000, "none")}),
	},
	{
		action:    "plan.withdraw",
		name:      "of a month",
		inBilling: true,
		before:    first(editPlan(plans.VersionEdit{Month: month(50_000, "20%"), From: inDays(3)})),
		change:    withdraw,
		later:     editPlan(plans.VersionEdit{PerMinute: 30}),
	},
	{
		action:    "plan.edit",
		name:      "of title, price and listing",
		inBilling: true,
		before:    first(editPrice("7 EUR")),
		change:    editPrice("9 EUR"),
		later:     editPrice("11 EUR"),
	},
	{
		action:    "plan.withdraw",
		inBilling: true,
		before:    first(editPlan(plans.VersionEdit{PerMinute: 20, From: inDays(3)})),
		change:    withdraw,
		later:     editPlan(plans.VersionEdit{PerMinute: 30}),
	},
	{action: "plan.retire", inBilling: true, change: retire(time.Time{}), later: resell},
	{
		action:    "plan.retire",
		name:      "at another time",
		inBilling: true,
		before:    first(retire(inDays(9))),
		change:    retire(time.Time{}),
	},
	{
		action:    "plan.resell",
		inBilling: true,
		before:    first(retire(inDays(9))),
		change:    resell,
		later:     retire(inDays(8)),
	},
}

// newUndoEnv returns an office with what the next case needs.
func newUndoEnv(t *testing.T, o fixture.Office, n int, billing, owner *store.DB) *undoEnv {
	t.Helper()
	e := &undoEnv{
		Office:  o,
		billing: billing,
		owner:   owner,
		tenant:  fmt.Sprintf("tenant-%d", n),
		plan:    fmt.Sprintf("own-%d", n),
	}
	o.Tenant(t, e.tenant, plans.Pro)
	e.key, _ = o.Issue(t, e.tenant)
	_, err := billing.Plans.Create(
		t.Context(),
		fixture.Jo,
		pricing.NewPlan{Name: e.plan, Quota: &plans.Quota{PerMinute: 10, PerDay: 100}},
	)
	assert.NoError(t, err)
	return e
}

// state is what binds the tenant and its keys, and how the plan is sold.
func (e *undoEnv) state(t *testing.T) string {
	t.Helper()
	return e.Text(t, `
		select concat_ws(E'\n',
		  (select concat_ws(' ', name, billing_ref, email, contact, notes, suspended_at is not null) from tenants
		      where id = $1),
		  (select string_agg(concat_ws(' ', id, name, per_minute, revoked_at is not null, expires_at, nullif(scope,
		      'write'), nullif(allowed, '{}')), E'\n' order by id) from api_keys where tenant_id = $1),
		  (select string_agg(concat_ws(' ', key_id, source, reason, ends_at), E'\n' order by key_id, ends_at)
		   from bans where tenant_id = $1 and lifted_at is null and ends_at > $3),
		  (select string_agg(concat_ws(' ', plan, generation, per_minute, per_day, per_month, overage, overage_value,
		      case when valid_from > now() then
		      valid_from end, voided_at is not null, void_reason), E'\n' order by valid_from)
		   from quota_periods where tenant_id = $1 and (valid_to is null or valid_to > now())),
		  (select string_agg(concat_ws(' ', receiver, until), E'\n') from usage_waivers where tenant_id = $1),
		  (select string_agg(concat_ws(' ', billing_ref, n), E'\n' order by billing_ref) from (
		    select billing_ref, sum(admitted) as n from sent_events where tenant_id = $1 group by 1) s where n <> 0),
		  (select concat_ws(' ', name, title, price, unlisted, retires_at > now(), case when retires_at > now()
		      then retires_at end) from price_list where name = $2),
		  (select concat_ws(' ', per_minute, per_day, per_month, overage, overage_value) from plan_versions
		   where plan = $2 and valid_from <= now() order
		      by version desc limit 1),
		  (select string_agg(concat_ws(' ', version, per_minute, per_day, per_month, overage, overage_value,
		      valid_from), E'\n' order by version)
		   from plan_versions where plan = $2 and valid_from > now()))`, e.key.TenantID, e.plan, time.Now())
}

// all is the state, and how many rows there are of what changes add.
func (e *undoEnv) all(t *testing.T) string {
	t.Helper()
	return e.state(t) + e.Text(t, `
		select concat_ws(' ', (select number from audit_head), (select count(*) from undo_values), (select count(*)
			from tenant_plans),
		  (select count(*) from bans), (select count(*) from api_keys), (select count(*) from plan_versions))`)
}

// live is the state without keys that are revoked: the undo of an issue leaves the row.
func live(state string) string {
	lines := strings.Split(state, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "key_") && slices.Contains(strings.Fields(l), "t")
	}), "\n")
}

// numbersAfter returns the numbers of the entries that fn writes.
func (e *undoEnv) numbersAfter(t *testing.T, fn func() error) (numbers []int64) {
	t.Helper()
	const head = `select number::text from audit_head`
	var from, to int64
	_, _ = fmt.Sscan(e.Text(t, head), &from)
	assert.NoError(t, fn())
	_, _ = fmt.Sscan(e.Text(t, head), &to)
	for n := from + 1; n <= to; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// refusedFor reports whether an undo is refused because of one of these later entries.
func refusedFor(err error, later []int64) bool {
	refused := (*undo.Error)(nil)
	return errors.As(err, &refused) && slices.ContainsFunc(later, func(n int64) bool {
		return strings.HasPrefix(refused.Why, fmt.Sprintf("entry %d (", n))
	})
}

// TestUndo takes every change back: a dry run changes nothing, the undo gives the state of before,
// the undo of the undo that of after. When another change follows, the undo is refused and names
// it.
func TestUndo(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	billing, owner := storetest.Open(t, o.BillingURL, store.Options{}), storetest.Open(t, o.URL, store.Options{})
	for n, c := range undoCases {
		t.Run(strings.TrimSpace(c.action+" "+c.name), func(t *testing.T) {
			e := newUndoEnv(t, o, n, billing, owner)
			if c.before != nil {
				c.before(t, e)
			}
			before := e.state(t)
			changed := e.numbersAfter(t, func() error { return c.change(t.Context(), e, audit.By{Actor: "jo"}) })
			after := e.state(t)
			if live(before) == live(after) {
				t.Fatalf("the change changed nothing:\n%s", after)
			}
			if got := e.Text(
				t,
				`select action from audit_entries where number = $1`,
				changed[len(changed)-1],
			); got != c.action {
				t.Fatalf("the change is a %s", got)
			}
			db := e.db(c)
			all := e.all(t)
			_, err := db.Undos.Do(t.Context(), fixture.Dry, changed, time.Now())
			assert.NoError(t, err, "dry run")
			assert.DeepEqual(t, e.all(t), all, "a dry run left something behind")
			undone := e.numbersAfter(t, func() error {
				_, err := db.Undos.Do(t.Context(), audit.By{Actor: "jo", Reason: "wrong"}, changed, time.Now())
				return err
			})
			assert.DeepEqual(t, live(e.state(t)), live(before), "undone")
			if got, want := e.Text(
				t,
				`select reason from audit_entries where number = $1`,
				undone[0],
			), fmt.Sprintf(
				"undo of %d: wrong",
				changed[len(changed)-1],
			); got != want {
				t.Errorf("reason %q, want %q", got, want)
			}
			if _, err := db.Undos.Do(t.Context(), fixture.Jo, changed, time.Now()); !refusedFor(err, undone) {
				t.Errorf("a second undo: %v", err)
			}
			assert.Equal(t, len(undone), len(changed), "entries undone", undone)
			_, err = db.Undos.Do(t.Context(), fixture.Jo, undone, time.Now())
			if c.final != "" {
				if !strings.Contains(fmt.Sprint(err), c.final) {
					t.Errorf("undo of the undo: %v, want %s", err, c.final)
				}
				return
			}
			assert.True(t, err == nil, "undo of the undo", err)
			assert.DeepEqual(t, e.state(t), after, "undone twice")
			if c.later == nil {
				return
			}
			following := e.numbersAfter(t, func() error { return c.later(t.Context(), e, audit.By{Actor: "jo"}) })
			all = e.all(t)
			_, err = db.Undos.Do(t.Context(), fixture.Jo, changed, time.Now())
			assert.True(t, refusedFor(err, following), "after the entries", following, err)
			assert.DeepEqual(t, e.all(t), all, "a refused undo left something behind")
		})
	}
	if _, fault := o.Verify(t, nil); fault != nil {
		t.Errorf("the trail is broken: %v", fault)
	}
}

// TestFinalActions: of what can't be taken back the undo says why.
func TestFinalActions(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	db := storetest.Open(t, o.URL, store.Options{})
	o.Tenant(t, "acme", plans.Pro)
	for _, action := range append(audit.Actions(), "something.else") {
		if audit.FindEvent(action).Undo != "" {
			continue
		}
		o.Exec(
			t,
			`insert into audit_entries (claimed_actor, action, subject, tenant_id) values ('jo', $1, 'tenant:1', 1)`,
			action,
		)
		var number int64
		_, _ = fmt.Sscan(o.Text(t, `select max(number)::text from audit_entries`), &number)
		_, err := db.Undos.Do(t.Context(), fixture.Jo, []int64{number}, time.Now())
		refused := (*undo.Error)(nil)
		if !errors.As(err, &refused) || refused.Why == "" || strings.Contains(refused.Hint, "%!") {
			t.Errorf("%s: %v", action, err)
		}
	}
	_, err := db.Undos.Do(t.Context(), fixture.Jo, []int64{99_999}, time.Now())
	assert.ErrorIs(t, err, trail.ErrEntryNotFound, "an unknown entry")
}

// TestUndoOfSQL: what somebody changed by SQL has an entry of a trigger, which does not say enough.
func TestUndoOfSQL(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	db := storetest.Open(t, o.URL, store.Options{})
	o.Tenant(t, "acme", plans.Pro)
	for _, statement := range []string{
		`insert into tenant_plans (tenant_id, valid_from, plan) values (1, now() + interval '1 day', 'free')`,
		`update tenant_plans set voided_at = now(), void_reason = 'x' where valid_from < now()`,
		`delete from tenant_plans where valid_from > now()`,
		`update price_list set title = 'x' where name = 'pro'`,
		`insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day) values ('pro', 2, 1,
			now() + interval '1 day', 1, 1)`,
		`delete from plan_versions where plan = 'pro' and version = 2`,
	} {
		o.Exec(t, statement)
		var number int64
		_, _ = fmt.Sscan(o.Text(t, `select max(number)::text from audit_entries`), &number)
		all := o.Everything(t)
		_, err := db.Undos.Do(t.Context(), fixture.Jo, []int64{number}, time.Now())
		if refused := (*undo.Error)(nil); !errors.As(err, &refused) || refused.Why == "" {
			t.Errorf("%s: %v", statement, err)
		}
		assert.DeepEqual(t, o.Everything(t), all, statement, "a refused undo left something behind")
	}
}

// TestUndoOverALastingBoost: an assignment can't be taken back to a boost whose end was removed. It
// is said, and nothing changes.
func TestUndoOverALastingBoost(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	e := newUndoEnv(t, o, 1, storetest.Open(t, o.BillingURL, store.Options{}), nil)
	first(assign(boostFor(time.Hour)), unscheduleEnd)(t, e)
	changed := e.numbersAfter(
		t,
		func() error { return assign(pricing.NewAssignment{Plan: plans.Business})(t.Context(), e, fixture.Jo) },
	)
	all := e.all(t)
	_, err := o.Undos.Do(t.Context(), fixture.Jo, changed, time.Now())
	if refused := (*undo.Error)(nil); !errors.As(err, &refused) ||
		refused.Why != "a boost without an end was in force before" {
		t.Errorf("undo: %v", err)
	}
	assert.DeepEqual(t, e.all(t), all, "a refused undo left something behind")
}

// TestEveryActionIsAnEvent: the actions that the code or a trigger writes are those in the table of
// events. Those with an undo have one here, which undoCases try.
func TestEveryActionIsAnEvent(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{"key.rotate": true} // With the key.issue of a rotation.
	for _, c := range undoCases {
		tried[c.action] = true
	}
	for _, event := range audit.Events {
		if (event.Undo != "") != tried[event.Action] {
			t.Errorf("%s: undo %q, tried: %t", event.Action, event.Undo, tried[event.Action])
		}
	}
	const actionPattern = `"((?:tenant|key|plan|ban|limits|usage|staff|retention|audit|webhook)\.[a-z]+)"`
	found := map[string]bool{audit.ActionRemove: true, "plan." + string(plans.Boost): true} // these are not written out
	for glob, pattern := range map[string]string{
		"../*.go":   actionPattern,
		"../*/*.go": actionPattern,
		"../../../migrations/*.up.sql": `(?:values \((?:'petstore'|\$\d), |(?:when|then|else) (?:'[A-Z]+' then )?)` +
			`'([a-z]+\.[a-z]+)'`,
	} {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", glob, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "undo.go" {
				continue
			}
			text, err := os.ReadFile(file)
			assert.NoError(t, err)
			for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
				found[string(m[1])] = true
			}
		}
	}
	assert.DeepEqual(
		t,
		slices.Sorted(maps.Keys(found)),
		slices.Sorted(slices.Values(audit.Actions())),
		"what is written, what is in the table",
	)
}

// TestUndoValues: they are written with their entry, by nobody else and not again. They are removed
// after 30 days, and with their tenant.
func TestUndoValues(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	email := "jo@example.com"
	_, _, err := o.Tenants.Edit(t.Context(), fixture.Jo, "acme", tenancy.TenantEdit{Email: &email})
	assert.NoError(t, err)
	const values = `select coalesce(string_agg(concat_ws(' ', number, first_number, tenant_id, before, after), '; '
		order by number), '') from undo_values`
	if got, want := o.Text(t, values), `1 1 1; 2 2 1 {"email": ""} {"email": "jo@example.com"}`; got != want {
		t.Errorf("values %s, want %s", got, want)
	}
	sam := fixture.Connect(t, o.SupportURL)
	for _, statement := range []string{
		`insert into undo_values (number, first_number) values (3, 3)`,
		`insert into undo_values (number, first_number) values (2, 2) on conflict (number) do update set before = '{}'`,
		`update undo_values set before = '{}'`,
		`delete from undo_values`,
	} {
		if _, err := sam.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s succeeded", statement)
		}
	}
	n, err := o.API.Audit.PruneUndoValues(t.Context(), time.Now().Add(time.Hour), 9)
	assert.Result(t, n, err, 0, "new values were removed")
	o.Exec(t, `update undo_values set at = now() - interval '31 days' where number = 1`)
	n, err = o.API.Audit.PruneUndoValues(t.Context(), time.Now().Add(-undo.MaxAge), 9)
	assert.Result(t, n, err, 1, "old values were removed")
	o.Exec(t, `begin; delete from tenant_plans; delete from mails; delete from mailboxes; delete from tenants; commit`)
	assert.Equal(t, o.Text(t, values), "", "the tenant is erased, and is left")
}

// TestUndoOfOldEntries: neither an entry of more than 30 days nor one whose values were removed is
// taken back.
func TestUndoOfOldEntries(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	email := "jo@example.com"
	_, _, err := o.Tenants.Edit(t.Context(), fixture.Jo, "acme", tenancy.TenantEdit{Email: &email})
	assert.NoError(t, err)
	o.Exec(t, `delete from undo_values`)
	if _, err := o.Undos.Do(
		t.Context(),
		audit.By{Actor: "jo"},
		[]int64{2},
		fixture.Noon,
	); err == nil ||
		err.Error() != "undo: entry 2 (tenant.edit) can't be undone: the former values are no longer kept" {
		t.Errorf("without values: %v", err)
	}
	o.Exec(
		t,
		`alter table audit_entries disable trigger user; update audit_entries set at = at - interval '31 days'; alter
			table audit_entries enable trigger user`,
	)
	if _, err := o.Undos.Do(
		t.Context(),
		audit.By{Actor: "jo"},
		[]int64{2},
		fixture.Noon,
	); err == nil ||
		err.Error() != "undo: entry 2 (tenant.edit) can't be undone: it is older than 30 days" {
		t.Errorf("an old entry: %v", err)
	}
}

// TestLatestIsWhole: the latest change is all of a batch, however many entries that has, and then
// the undo of it.
func TestLatestIsWhole(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	const n = 230
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%d", i)
	}
	batch := func(change func(context.Context, *store.DB, string) error) {
		err := o.Batch(t.Context(), fixture.Jo, func(ctx context.Context, db *store.DB) error {
			for _, name := range names {
				if err := change(ctx, db, name); err != nil {
					return err
				}
			}
			return nil
		})
		assert.NoError(t, err)
	}
	batch(func(ctx context.Context, db *store.DB, name string) error {
		_, err := db.Tenants.Create(ctx, fixture.Jo, tenancy.NewTenant{Name: name, Plan: plans.Free}, time.Time{})
		return err
	})
	batch(func(ctx context.Context, db *store.DB, name string) error {
		ref := "ref-of-" + name
		_, _, err := db.Tenants.Edit(ctx, fixture.Jo, name, tenancy.TenantEdit{BillingRef: &ref})
		return err
	})
	batch(func(ctx context.Context, db *store.DB, name string) error {
		_, err := db.Tenants.Suspend(ctx, fixture.Jo, name, time.Time{})
		return err
	})
	for i, want := range []string{"0 230", "230 230"} {
		numbers, err := o.Undos.Latest(t.Context(), 0)
		first := int64((2+i)*n + 1)
		if err != nil || len(numbers) != n || numbers[0] != first || !slices.IsSorted(numbers) {
			t.Fatalf(
				"the latest change has %d entries from %v on, error %v; want %d from %d on",
				len(numbers),
				numbers[:min(1, len(numbers))],
				err,
				n,
				first,
			)
		}
		_, err = o.Undos.Do(t.Context(), fixture.Jo, numbers, fixture.Noon)
		assert.NoError(t, err)
		o.Want(t, want, `select concat_ws(' ', count(suspended_at), count(billing_ref)) from tenants`)
	}
	// What is older than 30 days is passed over.
	o.Exec(
		t,
		`alter table audit_entries disable trigger user; update audit_entries set at = at - interval '31 days'; alter
			table audit_entries enable trigger user`,
	)
	if numbers, err := o.Undos.Latest(t.Context(), 0); !errors.Is(err, trail.ErrEntryNotFound) {
		t.Errorf("after 31 days: %v, error %v", numbers, err)
	}
}

// TestOnlyTheLatestIsUndone: an earlier change of the same subject is refused, and the later one
// named, whatever either changed; both are taken back together.
func TestOnlyTheLatestIsUndone(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	ref, contact := "cus_1", "Jo"
	for _, e := range []tenancy.TenantEdit{{BillingRef: &ref}, {Contact: &contact}} {
		_, _, err := o.Tenants.Edit(t.Context(), fixture.Jo, "acme", e)
		assert.NoError(t, err)
	}
	const want = "entry 2 (tenant.edit) can't be undone: entry 3 (tenant.edit) is later, and only the latest change " +
		"of a subject can be undone"
	if _, err := o.Undos.Do(
		t.Context(),
		fixture.Jo,
		[]int64{2},
		fixture.Noon,
	); !strings.Contains(
		fmt.Sprint(err),
		want,
	) {
		t.Errorf("undo of 2: %v", err)
	}
	_, err := o.Undos.Do(t.Context(), fixture.Jo, []int64{2, 3}, fixture.Noon)
	assert.Equal(t, err, nil, "undo of both")
	o.Want(t, "", `select concat(billing_ref, contact) from tenants`)
}
