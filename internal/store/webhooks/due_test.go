package webhooks_test

import (
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

// tell adds what is due, and returns its types.
func (b box) tell(t *testing.T) []string {
	t.Helper()
	assert.NoError(t, b.API.Outbox.Tell(t.Context()))
	return b.news(t)
}

// told checks what is due now, and that it is told once.
func (b box) told(t *testing.T, what string, want ...string) {
	t.Helper()
	assert.DeepEqual(t, b.tell(t), want, what)
	assert.DeepEqual(t, b.tell(t), []string(nil), what, "again")
}

// olden makes the first endpoint, and with it all that the tenant is told of, a year old.
func (b box) olden(t *testing.T) {
	t.Helper()
	b.enabled(t, "*")
	b.Exec(t, `update endpoints set created_at = now() - interval '1 year'`)
	b.Exec(t, `update api_keys set created_at = now() - interval '1 year'`)
	b.news(t)
}

// TestKeysThatEnd: the owner is told 30, 7 and 1 days before a key ends, after an outage only once.
// Another end begins anew, and a revocation ends it. A key that has a replacement has only the last.
func TestKeysThatEnd(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	k, _ := b.Issue(t, "acme")
	b.olden(t)
	ends := func(in string) {
		t.Helper()
		b.Exec(t, `update api_keys set expires_at = now() + $2::interval where id = $1`, k.ID, in)
	}
	days := func() string {
		t.Helper()
		assert.NoError(t, b.API.Outbox.Tell(t.Context()))
		return b.Text(t, `
			with gone as (delete from events returning body)
			select coalesce(string_agg(body::json #>> '{data,days}', ' '), '') from gone`)
	}
	for in, want := range map[string]string{
		"30 days 1 minute": "", "29 days": "30", "7 days 1 minute": "30", "6 days": "7",
		"23 hours": "1", "-1 minute": "",
	} {
		b.Exec(t, `delete from once`)
		ends(in)
		assert.Equal(t, days(), want, "a key that ends in", in)
		assert.Equal(t, days(), "", "again, in", in)
	}
	ends("6 days")
	assert.Equal(t, days(), "7")
	ends("5 days")
	assert.Equal(t, days(), "7", "another end")
	b.Exec(t, `update api_keys set created_at = now() - interval '1 day'`)
	ends("4 days")
	assert.Equal(t, days(), "", "a key that was made with this end")
	b.Exec(t, `update api_keys set created_at = now() - interval '1 year'`)
	b.Exec(t, `update endpoints set created_at = now() - interval '1 day'`)
	ends("3 days")
	assert.Equal(t, days(), "", "before the first endpoint")

	b.Exec(t, `update endpoints set created_at = now() - interval '1 year'`)
	other, _ := b.Issue(t, "acme")
	b.Exec(t, `
		insert into audit_entries (claimed_actor, action, subject, after)
		values ('x', 'key.rotate', $1, jsonb_build_object('replaced_by', $2::text))`, k.ID, other.ID)
	b.news(t)
	ends("6 days")
	assert.Equal(t, days(), "", "a rotated key")
	ends("22 hours")
	assert.NoError(t, b.API.Outbox.Tell(t.Context()))
	b.Want(t, other.ID, `select body::json #>> '{data,replacedBy}' from events`)
	b.news(t)
	b.Exec(t, `update api_keys set expires_at = now() + interval '20 hours', revoked_at = now() where id = $1`, k.ID)
	b.news(t)
	assert.Equal(t, days(), "", "a revoked key")
}

// TestBansThatEnd: a key is unbanned when the last ban that covers it ends, not when it was lifted.
func TestBansThatEnd(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	k, _ := b.Issue(t, "acme")
	b.olden(t)
	ban := func(from, until, lifted string) {
		t.Helper()
		b.Exec(t, `
			insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at, lifted_at)
			values ($1, $2, 'staff', 'x', now() - $3::interval, now() - $4::interval,
			        now() - nullif($5, '')::interval)`,
			b.acme.ID, k.ID, from, until, lifted)
		b.news(t)
	}
	ban("5 hours", "4 hours", "")
	b.told(t, "a ban that is over", "key.unbanned")
	ban("3 hours", "2 hours", "150 minutes")
	b.told(t, "a ban that was lifted")
	ban("150 minutes", "100 minutes", "")
	ban("120 minutes", "90 minutes", "")
	b.told(t, "one that went on with another", "key.unbanned")
	ban("80 minutes", "70 minutes", "")
	ban("75 minutes", "10 minutes", "60 minutes")
	b.told(t, "one that another covered until it was lifted")
}

// TestPlansThatChange: the owner is told 7 days before the quota changes, and when it has; a change
// that was told in its own transaction is not told again.
func TestPlansThatChange(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.olden(t)
	assign := func(n pricing.NewAssignment) {
		t.Helper()
		n.Tenant = "acme"
		assert.NoError(t, fixture.ErrorOf(b.Timelines.Assign(t.Context(), fixture.Jo, n)))
	}
	assign(pricing.NewAssignment{Kind: plans.Assigned, Plan: plans.Free})
	assert.DeepEqual(t, b.news(t), []string{"plan.changed"})
	b.told(t, "what was told")
	assign(pricing.NewAssignment{
		Kind: plans.Boost, Own: &plans.Quota{PerDay: 5000}, From: time.Now().Add(10 * 24 * time.Hour),
		Until: func(from time.Time) time.Time { return from.Add(24 * time.Hour) },
	})
	b.told(t, "a change in 10 days")
	b.Exec(t, `delete from tenant_plans where valid_from > now()`)
	assign(pricing.NewAssignment{
		Kind: plans.Boost, Own: &plans.Quota{PerDay: 5000}, From: time.Now().Add(6 * 24 * time.Hour),
		Until: func(from time.Time) time.Time { return from.Add(time.Hour) },
	})
	b.told(t, "its beginning and its end", "plan.changing", "plan.changing")
	b.Exec(t, `
		alter table tenant_plans disable trigger user;
		update tenant_plans set valid_from = valid_from - interval '6 days 10 seconds' where kind = 'boost'`)
	b.told(t, "one that has begun", "plan.changed")
}

// TestARepeatHasItsID: what is told again after a restore has the ID that it had.
func TestARepeatHasItsID(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	k, _ := b.Issue(t, "acme")
	b.olden(t)
	b.Exec(t, `update api_keys set expires_at = now() + interval '1 hour' where id = $1`, k.ID)
	id := func() string {
		assert.NoError(t, b.API.Outbox.Tell(t.Context()))
		return b.Text(t, `with gone as (delete from events returning id) select id::text from gone`)
	}
	first := id()
	b.Exec(t, `delete from once`)
	assert.Equal(t, id(), first)
	assert.Equal(t, first[14], '5', fmt.Sprint("the version of ", first))
}
