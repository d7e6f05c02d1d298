package callers

import (
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// coming returns tenant 1 with plans that follow each other by an hour. What follows the last is
// not known if another one does.
func coming(from time.Time, another bool, names ...string) *plans.Tenant {
	var next *plans.Tenant
	for i := len(names) - 1; i >= 0; i-- {
		t := tenant(1)
		t.Plan, t.Assignment, t.Next = names[i], int64(i+1), next
		if next != nil || another {
			t.Until = from.Add(time.Duration(i+1) * time.Hour)
		}
		next = t
	}
	return next
}

func (f fixture) wantPlan(t *testing.T, want string) {
	t.Helper()
	if c := f.want(t, nil); c.Tenant.Plan != want || c.KeyID != f.token.Last4() {
		t.Errorf("key %s on plan %s, want %s", c.KeyID, c.Tenant.Plan, want)
	}
}

// TestComingChanges: at the instant of a change that is known the next plan is in force, without a
// notice, a query or a store.
func TestComingChanges(t *testing.T) {
	for name, arrange := range map[string]func(fixture){
		"by a feed that works": func(fixture) {},
		"without a feed":       fixture.lose,
		"without a store": func(f fixture) {
			f.lose()
			f.down(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f fixture) {
				f.set(
					func(c *keys.Caller) {
						c.Tenant = coming(time.Now(), false, plans.Free, plans.Pro,
							plans.Business)
					},
				)
				f.wantPlan(t, plans.Free)
				time.Sleep(time.Hour - 2*time.Nanosecond)
				f.restore()
				f.wantPlan(t, plans.Free)
				queries := f.store.queries.Load()
				arrange(f)
				time.Sleep(time.Nanosecond)
				f.wantPlan(t, plans.Free)
				time.Sleep(time.Nanosecond)
				f.wantPlan(t, plans.Pro)
				f.wantQueries(t, queries)

				f.down(false)
				f.restore()
				f.wantPlan(t, plans.Pro)
				time.Sleep(time.Hour - time.Nanosecond)
				f.wantPlan(t, plans.Pro)
				time.Sleep(time.Nanosecond)
				f.wantPlan(t, plans.Business)
				time.Sleep(1000 * time.Hour)
				f.wantPlan(t, plans.Business)
			})
		})
	}
}

// TestAfterTheLastKnownChange: what follows it is looked up once it has come, and never is what is
// over served.
func TestAfterTheLastKnownChange(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		f.set(func(c *keys.Caller) { c.Tenant = coming(time.Now(), true, plans.Free, plans.Pro) })
		f.wantPlan(t, plans.Free)
		f.set(func(c *keys.Caller) { c.Tenant = coming(time.Now(), false, plans.Business) })
		time.Sleep(2*time.Hour - time.Nanosecond)
		f.wantPlan(t, plans.Pro)
		f.down(true)
		f.lose()
		time.Sleep(time.Nanosecond)
		f.want(t, keys.ErrUnavailable)
		f.down(false)
		time.Sleep(retryInterval)
		queries := f.store.queries.Load()
		f.wantPlan(t, plans.Business)
		f.wantPlan(t, plans.Business)
		f.wantQueries(t, queries+1)
	})
}

// TestAStoreThatKnowsNoMore: a store that says that all is over already, as one whose clock is
// behind, is not asked again and again.
func TestAStoreThatKnowsNoMore(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		f.set(func(c *keys.Caller) { c.Tenant = coming(time.Now().Add(-time.Hour), true, plans.Free) })
		f.want(t, keys.ErrUnavailable)
		f.wantQueries(t, 1+outlivedTries)
	})
}

// TestNoticeOfAComingChange: a change that is scheduled, or removed, is heard as any other.
func TestNoticeOfAComingChange(t *testing.T) {
	for name, notify := range notices {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f fixture) {
				f.wantPlan(t, plans.Free)
				f.set(func(c *keys.Caller) { c.Tenant = coming(time.Now(), false, plans.Free, plans.Pro) })
				notify(f)
				f.wantPlan(t, plans.Free)
				f.set(func(c *keys.Caller) { c.Tenant = coming(time.Now(), false, plans.Free, plans.Business) })
				notify(f)
				time.Sleep(time.Hour)
				f.wantPlan(t, plans.Business)
				f.set(func(c *keys.Caller) { c.Tenant = coming(time.Now(), false, plans.Free) })
				notify(f)
				f.wantPlan(t, plans.Free)
			})
		})
	}
}

// TestInstantsAreSetBack: by the clock of a database that was set back, what was before the change
// is in force again.
func TestInstantsAreSetBack(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		var set time.Duration
		f.instant = func() time.Time { return time.Now().Add(set) }
		f.set(func(c *keys.Caller) { c.Tenant = coming(time.Now(), false, plans.Free, plans.Pro) })
		time.Sleep(time.Hour)
		f.wantPlan(t, plans.Pro)
		set = -time.Minute
		f.wantPlan(t, plans.Free)
	})
}

// TestKeysShareWhatComes: the keys of a tenant hold one value for each of its plans.
func TestKeysShareWhatComes(t *testing.T) {
	bubble(t, func(t *testing.T, f fixture) {
		second, now := newToken(t, keys.Live), time.Now()
		f.add(second, 1)
		f.change(func(s *fakeStore) {
			for d, c := range s.callers {
				c.Tenant = coming(now, false, plans.Free, plans.Pro)
				s.callers[d] = c
			}
		})
		for range 2 {
			if f.want(t, nil).Tenant != f.wantOf(t, second, nil).Tenant {
				t.Error("two keys of a tenant hold it twice")
			}
			time.Sleep(time.Hour)
		}
	})
}
