package pricing_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// planned is a line of a tenant's timeline as a text.
func planned(t *testing.T, o fixture.Office, tenantID int64) (lines []string) {
	t.Helper()
	periods, err := o.Timelines.Periods(t.Context(), tenantID, time.Time{})
	assert.NoError(t, err)
	for _, p := range periods {
		lines = append(
			lines,
			fmt.Sprintf("%s %s %s %d/%d", p.From.Format("02 15:04"), p.Kind, p.Plan, p.Quota.PerMinute, p.Quota.PerDay),
		)
	}
	return lines
}

func assignNew(t *testing.T, o fixture.Office, n pricing.NewAssignment) pricing.PlanChange {
	t.Helper()
	n.Tenant = "acme"
	if n.Kind == "" {
		n.Kind = plans.Assigned
	}
	done, err := o.Timelines.Assign(t.Context(), fixture.Jo, n)
	assert.NoError(t, err)
	return done
}

func at(instant time.Time) func(time.Time) time.Time {
	return func(time.Time) time.Time { return instant }
}

// atNoon is an office whose clock shows noon.
func atNoon(t *testing.T) (fixture.Office, plans.Tenant) {
	t.Helper()
	o := fixture.NewOffice(t)
	acme := o.Tenant(t, "acme", plans.Pro)
	o.DB = storetest.Open(
		t,
		o.SupportURL,
		store.Options{Clock: func() time.Time { return fixture.Noon.Add(time.Hour) }},
	)
	return o, acme
}

func TestAssignmentsAreStoredAsDerived(t *testing.T) {
	t.Parallel()
	o, acme := atNoon(t)
	trial := assignNew(
		t, o,
		pricing.NewAssignment{
			Plan:  plans.Business,
			From:  fixture.Noon.AddDate(0, 0, 1),
			Until: at(fixture.Noon.AddDate(0, 0, 9)),
			Then:  plans.Free,
		},
	)
	boost := assignNew(
		t, o,
		pricing.NewAssignment{
			Kind:  plans.Boost,
			Own:   &plans.Quota{PerMinute: 5000},
			From:  fixture.Noon.AddDate(0, 0, 2),
			Until: at(fixture.Noon.AddDate(0, 0, 3)),
		},
	)
	all := []string{
		"20 12:00 assign pro 300/10000", "21 12:00 assign business 1000/100000", "22 12:00 boost business 5000/100000",
		"23 12:00 end business 1000/100000", "29 12:00 end free 60/1000",
	}
	assert.DeepEqual(t, planned(t, o, acme.ID), all)
	bought := assignNew(t, o, pricing.NewAssignment{Plan: plans.Pro, From: fixture.Noon.AddDate(0, 0, 4)})
	assert.DeepEqual(t, planned(t, o, acme.ID), append(all[:4:4], "24 12:00 assign pro 300/10000"), "bought")
	for _, step := range []struct {
		id   int64
		want []string
	}{
		{bought.Assignment.ID, all},
		{boost.Assignment.ID, []string{all[0], all[1], all[4]}},
		{trial.Assignment.ID, all[:1]},
	} {
		_, err := o.Timelines.Unschedule(t.Context(), fixture.Jo, step.id)
		assert.NoError(t, err)
		assert.DeepEqual(t, planned(t, o, acme.ID), step.want, "unscheduled", step.id)
	}
}

// TestBoostsHaveTheNumbersOfBefore: a boost has the numbers that it does not name from what is in
// force when it begins.
func TestBoostsHaveTheNumbersOfBefore(t *testing.T) {
	t.Parallel()
	o, acme := atNoon(t)
	boost := func(from, until int, q plans.Quota) pricing.NewAssignment {
		return pricing.NewAssignment{
			Kind:  plans.Boost,
			Own:   &q,
			From:  fixture.Noon.AddDate(0, 0, from),
			Until: at(fixture.Noon.AddDate(0, 0, until)),
		}
	}
	outer := assignNew(t, o, boost(1, 9, plans.Quota{PerMinute: 2000}))
	removed := assignNew(t, o, boost(2, 3, plans.Quota{PerDay: 50_000}))
	_, err := o.Timelines.Unschedule(t.Context(), fixture.Jo, removed.Assignment.ID)
	assert.NoError(t, err)
	entries, err := store.Collect(o.Audit.List(t.Context(), trail.Filter{Limit: 1}))
	if err == nil {
		_, err = o.Undos.Do(t.Context(), fixture.Jo, []int64{entries[0].Number}, fixture.Noon)
	}
	assert.NoError(t, err)
	assignNew(t, o, boost(4, 5, plans.Quota{PerMinute: 3000}))
	want := []string{
		"20 12:00 assign pro 300/10000",
		"21 12:00 boost pro 2000/10000",
		"22 12:00 boost pro 2000/50000",
		"23 12:00 end pro 2000/10000",
		"24 12:00 boost pro 3000/10000",
		"25 12:00 end pro 2000/10000",
		"29 12:00 end pro 300/10000",
	}
	assert.DeepEqual(t, planned(t, o, acme.ID), want)
	_, err = o.Timelines.Unschedule(t.Context(), fixture.Jo, outer.Assignment.ID)
	assert.NoError(t, err)
	assignNew(t, o, pricing.NewAssignment{Plan: plans.Enterprise, Own: &plans.Quota{PerMinute: 70, PerDay: 700}})
	want = []string{
		"22 12:00 boost enterprise 70/50000",
		"23 12:00 end enterprise 70/700",
		"24 12:00 boost enterprise 3000/700",
		"25 12:00 end enterprise 70/700",
	}
	assert.DeepEqual(t, planned(t, o, acme.ID)[2:], want, "after another plan was agreed")
}

// TestTheLatestVersionWhenItBegins: a plan that is scheduled has the numbers that it has then, and
// what comes back those of before.
func TestTheLatestVersionWhenItBegins(t *testing.T) {
	t.Parallel()
	o, acme := atNoon(t)
	o.Exec(
		t,
		`insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day) values ('pro', 2, 2,
			$1, 400, 20000)`,
		fixture.Noon.AddDate(0, 0, 2),
	)
	assignNew(
		t,
		o,
		pricing.NewAssignment{
			Plan:  plans.Free,
			From:  fixture.Noon.AddDate(0, 0, 3),
			Until: at(fixture.Noon.AddDate(0, 0, 4)),
		},
	)
	assignNew(t, o, pricing.NewAssignment{Plan: plans.Pro, From: fixture.Noon.AddDate(0, 0, 5)})
	assignNew(
		t, o,
		pricing.NewAssignment{
			Kind:  plans.Boost,
			Own:   &plans.Quota{PerDay: 90000},
			From:  fixture.Noon.AddDate(0, 0, 6),
			Until: at(fixture.Noon.AddDate(0, 0, 7)),
		},
	)
	want := []string{
		"20 12:00 assign pro 300/10000", "23 12:00 assign free 60/1000", "24 12:00 end pro 300/10000",
		"25 12:00 assign pro 400/20000", "26 12:00 boost pro 400/90000", "27 12:00 end pro 400/20000",
	}
	assert.DeepEqual(t, planned(t, o, acme.ID), want)
}

// TestChangesOfOneTenantAtOnce: of many that want the same instant one gets it, and there is one
// assignment at each instant.
func TestChangesOfOneTenantAtOnce(t *testing.T) {
	t.Parallel()
	o, acme := atNoon(t)
	december := fixture.Noon.AddDate(0, 0, 11)
	var all sync.WaitGroup
	errs := make([]error, 24)
	for i := range errs {
		all.Go(func() {
			switch i % 3 {
			case 0:
				_, errs[i] = o.Timelines.Assign(
					t.Context(),
					fixture.Jo,
					pricing.NewAssignment{Tenant: "acme", Kind: plans.Assigned, Plan: plans.Business, From: december},
				)
			case 1:
				_, errs[i] = o.Timelines.Assign(t.Context(), fixture.Jo, pricing.NewAssignment{
					Tenant: "acme",
					Kind:   plans.Boost,
					Own:    &plans.Quota{PerMinute: 500},
					From:   december.AddDate(0, 0, i),
					Until:  at(december.AddDate(0, 0, i+3)),
				})
			default:
				_, errs[i] = o.Timelines.Assign(
					t.Context(),
					fixture.Jo,
					pricing.NewAssignment{
						Tenant: "acme",
						Kind:   plans.Assigned,
						Plan:   []string{plans.Free, plans.Pro}[i%2],
					},
				)
			}
		})
	}
	all.Wait()
	made := 0
	for i, err := range errs {
		conflict := errors.As(err, &plans.ConflictError{})
		switch {
		case i%3 == 0 && err == nil:
			made++
		case i%3 == 0 && !conflict, i%3 != 0 && err != nil:
			t.Errorf("%d: %v", i, err)
		}
	}
	periods, err := o.Timelines.Periods(t.Context(), acme.ID, time.Time{})
	assert.NoError(t, err)
	assert.Equal(t, made, 1, "were made for the same instant")
	for i, p := range periods[1:] {
		assert.True(t, p.From.Equal(periods[i].To), "a gap or an overlap", periods)
	}
	if last := periods[len(periods)-1]; last.Plan != plans.Business || !last.To.IsZero() || last.Kind != plans.End {
		t.Errorf("at last: %+v", last)
	}
}

func TestWhatHasBegunIsNotUnscheduled(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	o.Exec(t, `create or replace function past_until() returns timestamptz language sql stable as 'select now()'`)
	acme := tenantNow(t, o)
	begins := time.Now().Add(time.Hour)
	soon := assignNew(t, o, pricing.NewAssignment{Plan: plans.Business, From: begins})
	_, err := o.Timelines.Assign(t.Context(), fixture.Jo, pricing.NewAssignment{
		Tenant: "acme", Kind: plans.Assigned, Plan: plans.Free, From: time.Now().Add(-time.Minute),
	})
	assert.ErrorIs(t, err, plans.ErrInPast, "in the past")
	o.DB = storetest.Open(
		t,
		o.SupportURL,
		store.Options{Clock: func() time.Time { return begins.Add(-plans.UnscheduleMargin / 2) }},
	)
	_, err = o.Timelines.Unschedule(t.Context(), fixture.Jo, soon.Assignment.ID)
	assert.ErrorIs(t, err, plans.ErrAssignmentBegins, "within two seconds of its beginning")
	_, err = o.Timelines.Unschedule(t.Context(), fixture.Jo, acme.Assignment)
	assert.ErrorIs(t, err, plans.ErrAssignmentBegun, "of what has begun")
	trial := assignNew(
		t, o,
		pricing.NewAssignment{Plan: plans.Pro, From: begins.Add(time.Hour), Until: at(begins.Add(2 * time.Hour))},
	)
	_, err = o.Timelines.Unschedule(t.Context(), fixture.Jo, trial.Added[1].ID)
	assert.Equal(t, err, nil, "the end of what comes")
	got := planned(t, o, acme.ID)
	assert.Equal(t, len(got), 3, got)
}

func tenantNow(t *testing.T, o fixture.Office) plans.Tenant {
	t.Helper()
	acme, err := o.Tenants.Create(
		t.Context(),
		fixture.Jo,
		tenancy.NewTenant{Name: "acme", Plan: plans.Pro},
		time.Time{},
	)
	assert.NoError(t, err)
	return acme
}
