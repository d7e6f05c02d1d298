package tenancy_test

import (
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

// TestCallers: each digest of a query gets its own caller with what follows, and one of no key gets
// none.
func TestCallers(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	o.Tenant(t, "zoo", plans.Free)
	_, first := o.Issue(t, "acme")
	_, other := o.Issue(t, "zoo")
	_, second := o.Issue(t, "acme")
	_, _, err := fixture.AssignPlan(
		t.Context(),
		o.DB,
		fixture.Jo,
		"acme",
		plans.Business,
		nil,
		time.Now().Add(time.Hour),
	)
	assert.NoError(t, err)
	digests := []keys.Digest{{1}, first.Digest(), other.Digest(), {2}, second.Digest(), first.Digest(), {3}}
	found, err := o.API.Keys.Callers(t.Context(), digests, time.Now())
	assert.NoError(t, err)
	var got []string
	for i, c := range found {
		if c.Tenant == nil {
			got = append(got, "none")
			continue
		}
		sole, err := o.API.Keys.Caller(t.Context(), digests[i], time.Now())
		assert.Result(t, c, err, sole, "caller", i, "alone and among others -alone +among")
		text := c.Tenant.Name
		for p := c.Tenant; p != nil; p = p.Next {
			text += " " + p.Plan
		}
		got = append(got, text)
	}
	want := []string{"none", "acme pro business", "zoo free", "none", "acme pro business", "acme pro business", "none"}
	assert.DeepEqual(t, got, want, "callers")
}

// TestBoostedCallers: a caller and a sign-in know which numbers are the plan's and which a boost's,
// also when a boost within another one has ended.
func TestBoostedCallers(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	o.Exec(t, `
		insert into plan_versions (plan, version, generation, valid_from, month, per_month, overage, overage_value,
			per_minute, per_day)
		values ('pro', 2, 1, now(), 'some', 70000, 'share', 20, 300, 10000)`)
	_, token := o.Issue(t, "acme")
	now := time.Now()
	for _, b := range []struct {
		own    plans.Quota
		from   time.Duration
		length time.Duration
	}{
		{
			plans.Quota{PerDay: 500, Month: plans.Month{Kind: plans.SomeMonth, Included: 9000}},
			time.Minute,
			3 * time.Hour,
		},
		{plans.Quota{PerDay: 400}, time.Hour, time.Hour},
	} {
		_, err := o.Timelines.Assign(t.Context(), fixture.Jo, pricing.NewAssignment{
			Tenant: "acme", Kind: plans.Boost, Own: &b.own,
			From: now.Add(b.from), Until: func(from time.Time) time.Time { return from.Add(b.length) },
		})
		assert.NoError(t, err)
	}
	c, err := o.API.Keys.Caller(t.Context(), token.Digest(), now.Add(2*time.Minute))
	assert.NoError(t, err)
	var got []string
	for p := c.Tenant; p != nil; p = p.Next {
		minute, day, month := p.Boosted()
		got = append(got, fmt.Sprint(p.Quota, p.PlanQuota, minute, day, month))
	}
	const ofPlan = " {300 10000 {2 70000 20%}} false "
	assert.DeepEqual(t, got, []string{
		"{300 500 {2 9000 20%}}" + ofPlan + "true true",
		"{300 400 {2 9000 20%}}" + ofPlan + "true true",
		"{300 500 {2 9000 20%}}" + ofPlan + "true true",
		"{300 10000 {2 70000 20%}}" + ofPlan + "false false",
	})
}
