package pricing_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// billingAt is an office of a login in petstore_billing at that time.
func billingAt(t *testing.T, o fixture.Office, at time.Time) *store.DB {
	t.Helper()
	return storetest.Open(t, o.BillingURL, store.Options{Clock: func() time.Time { return at }})
}

// staffAt is an office of a login in petstore_support at that time.
func staffAt(t *testing.T, o fixture.Office, at time.Time) *store.DB {
	t.Helper()
	return storetest.Open(t, o.SupportURL, store.Options{Clock: func() time.Time { return at }})
}

// numbersOf are the versions of a plan in short.
func numbersOf(t *testing.T, db *store.DB, plan string) (numbers []string) {
	t.Helper()
	list, err := db.Plans.Versions(t.Context(), plan)
	assert.NoError(t, err)
	for _, v := range list {
		numbers = append(
			numbers,
			fmt.Sprintf(
				"%d/%d: %d, %d from %s: %d",
				v.Number,
				v.Generation,
				v.Quota.PerMinute,
				v.Quota.PerDay,
				v.From.Format(time.TimeOnly),
				v.Tenants,
			),
		)
	}
	return numbers
}

func TestEditsAtTheSameTime(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	billing := storetest.Open(t, o.BillingURL, store.Options{})
	const editors = 8
	var group sync.WaitGroup
	for n := range editors {
		group.Go(func() {
			edit := pricing.PlanEdit{Numbers: &plans.VersionEdit{PerMinute: 100 + int64(n)}}
			_, err := billing.Plans.Edit(t.Context(), fixture.Jo, plans.Pro, edit)
			assert.Equal(t, err, nil)
		})
	}
	group.Wait()
	list, err := billing.Plans.Versions(t.Context(), plans.Pro)
	if err != nil || len(list) != 1+editors {
		t.Fatalf("%d versions, %v, want %d", len(list), err, 1+editors)
	}
	seen := map[int64]bool{}
	for i, v := range list {
		seen[v.Quota.PerMinute] = true
		if v.Number != i+1 || i > 0 && !v.From.After(list[i-1].From) {
			t.Errorf("version %d is number %d, from %v", i+1, v.Number, v.From)
		}
	}
	assert.Equal(t, len(seen), 1+editors, "numbers", seen)
}

func TestGenerations(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	old := o.Tenant(t, "old", plans.Pro)
	trial := o.Tenant(t, "trial", plans.Pro)
	o.Exec(
		t,
		`insert into tenant_plans (tenant_id, plan, valid_from, kind, ends) values ($1, 'free', $2, 'end', $3)`,
		trial.ID,
		fixture.Noon.AddDate(0, 1, 0),
		trial.Assignment,
	)
	hour := func(n int) time.Time { return fixture.Noon.Add(time.Duration(n) * time.Hour) }
	edit := func(n int, e plans.VersionEdit) pricing.EditedPlan {
		t.Helper()
		done, err := billingAt(
			t,
			o,
			hour(n),
		).Plans.Edit(
			t.Context(),
			fixture.Jo,
			plans.Pro,
			pricing.PlanEdit{Numbers: &e},
		)
		assert.NoError(t, err)
		return done
	}
	if done := edit(
		1,
		plans.VersionEdit{PerMinute: 250, KeepExisting: true},
	); !cmp.Equal(done.Followers, []int64{old.ID, trial.ID}) ||
		!done.KeepExisting {
		t.Errorf("followers %v, %v keep", done.Followers, done.KeepExisting)
	}
	fresh, err := o.Tenants.Create(t.Context(), fixture.Jo, tenancy.NewTenant{Name: "fresh", Plan: plans.Pro}, hour(2))
	if err != nil || fresh.Quota.PerMinute != 250 {
		t.Fatalf("%+v, %v", fresh, err)
	}
	if done := edit(3, plans.VersionEdit{PerDay: 9000}); !cmp.Equal(done.Followers, []int64{fresh.ID}) {
		t.Errorf("followers of the second generation: %v", done.Followers)
	}
	staff := staffAt(t, o, hour(4))
	want := []string{
		"1/1: 300, 10000 from 00:00:00: 2",
		"2/2: 250, 10000 from 13:00:00: 0",
		"3/2: 250, 9000 from 15:00:00: 1",
	}
	assert.DeepEqual(t, numbersOf(t, staff, plans.Pro), want, "versions")
	list, err := staff.Plans.Grandfathered(t.Context(), plans.Pro, nil)
	if err != nil || len(list) != 2 || list[0].Tenant.Name != "old" || list[0].Temporary ||
		list[1].Tenant.Name != "trial" ||
		!list[1].Temporary {
		t.Errorf("grandfathered: %+v, %v", list, err)
	}
	moved, err := staff.Plans.Move(t.Context(), fixture.Jo, plans.Pro, []int64{old.ID, trial.ID, fresh.ID})
	if err != nil || len(moved) != 1 || moved[0].Name != "old" || moved[0].Version != 3 ||
		moved[0].Quota != (plans.Quota{PerMinute: 250, PerDay: 9000}) {
		t.Errorf("moved %+v, %v", moved, err)
	}
	again, err := staff.Plans.Move(t.Context(), fixture.Jo, plans.Pro, []int64{old.ID})
	assert.Result(t, len(again), err, 0, "moved again")
	// Nothing of the past changed.
	periods, err := staff.Timelines.Periods(t.Context(), old.ID, time.Time{})
	if err != nil || len(periods) != 2 || periods[0].Version != 1 || !periods[0].To.Equal(hour(4)) ||
		periods[1].Version != 3 {
		t.Errorf("periods %+v, %v", periods, err)
	}
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	billing := billingAt(t, o, fixture.Noon)
	begins := fixture.Noon.Add(plans.WithdrawMargin)
	for _, from := range []time.Time{begins, begins.Add(1000)} {
		edit := pricing.PlanEdit{Numbers: &plans.VersionEdit{PerMinute: int64(100 + from.Sub(begins)), From: from}}
		_, err := billing.Plans.Edit(t.Context(), fixture.Jo, plans.Pro, edit)
		assert.NoError(t, err)
	}
	for _, step := range []struct {
		plan   string
		number int
		err    error
	}{
		{"gold", 0, plans.ErrPlanNotFound},
		{plans.Pro, 4, plans.ErrVersionNotFound},
		{plans.Pro, 2, plans.ErrVersionNotLast},
		{plans.Pro, 3, nil},
		{plans.Pro, 0, plans.ErrVersionBegun},
		{plans.Free, 0, plans.ErrVersionFirst},
	} {
		_, err := billing.Plans.Withdraw(t.Context(), fixture.Jo, step.plan, step.number)
		assert.ErrorIs(t, err, step.err, step.plan, step.number)
	}
	got := numbersOf(t, billing, plans.Pro)
	assert.Equal(t, len(got), 2, "versions", got)
}

func TestHistoryHasReasons(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	by := func(reason string) (b audit.By) { b = fixture.Jo; b.Reason = reason; return b }
	acme, err := o.Tenants.Create(
		t.Context(),
		by("signed"),
		tenancy.NewTenant{Name: "acme", Plan: plans.Pro},
		fixture.Noon,
	)
	assert.NoError(t, err)
	for n, e := range []plans.VersionEdit{{PerMinute: 250}, {PerMinute: 200, KeepExisting: true}} {
		at := fixture.Noon.Add(time.Duration(1+n) * time.Hour)
		_, err := billingAt(
			t, o,
			at,
		).Plans.Edit(
			t.Context(),
			by(fmt.Sprint("edit ", n)),
			plans.Pro,
			pricing.PlanEdit{Numbers: &e},
		)
		assert.NoError(t, err)
	}
	staff := staffAt(t, o, fixture.Noon.Add(5*time.Hour))
	_, err = staff.Plans.Move(t.Context(), by("agreed"), plans.Pro, []int64{acme.ID})
	assert.NoError(t, err)
	o.Exec(t, `update plans set per_minute = 220 where name = 'pro'`)
	type period struct {
		Version           int
		Login, By, Reason string
	}
	for url, want := range map[string][]period{
		o.SupportURL: {{1, "sam", fixture.Jo.Actor, "signed"}, {2, "bill", fixture.Jo.Actor, "edit 0"},
			{3, "sam", fixture.Jo.Actor, "agreed"}, {4, "postgres", "sql", ""}},
		o.BillingURL: {{1, "sam", "", ""}, {2, "bill", "", ""}, {3, "sam", "", ""}, {4, "postgres", "", ""}},
	} {
		history, err := storetest.Open(t, url, store.Options{}).Timelines.History(t.Context(), "acme")
		assert.NoError(t, err)
		var got []period
		for _, p := range history {
			got = append(got, period{p.Version, p.CreatedBy, p.ClaimedActor, p.Reason})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", storetest.LoginOf(t, url), diff)
		}
	}
	_, err = o.Timelines.History(t.Context(), "nobody")
	assert.ErrorIs(t, err, plans.ErrTenantNotFound, "nobody")
}
