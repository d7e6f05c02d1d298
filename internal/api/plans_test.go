package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/api/pagecache"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// fakePlans sells the contract's plans, and fails as the catalogue does.
type fakePlans struct{ pets *fakePets }

func (f fakePlans) Sold(context.Context) ([]plans.Plan, error) {
	return call(f.pets, func() ([]plans.Plan, error) {
		return []plans.Plan{
			{
				Name:  plans.Free,
				Quota: &plans.Quota{PerMinute: 60, PerDay: 1000},
			},
			{Name: plans.Pro, Title: "For teams", Quota: &plans.Quota{PerMinute: 300, PerDay: 10_000}},
			{Name: plans.Business, Quota: &plans.Quota{PerMinute: 1000, PerDay: 100_000}},
			{Name: plans.Enterprise},
		}, nil
	})
}

// TestPlans: the answer is the same for everybody, counts nothing, can be revalidated, and is 503
// without the store.
func TestPlans(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const none = `"requestsPerMonth":null,"overage":null}`
	const want = `[{"name":"free","title":null,"requestsPerMinute":60,"requestsPerDay":1000,` + none +
		`,{"name":"pro","title":"For teams","requestsPerMinute":300,"requestsPerDay":10000,` + none +
		`,{"name":"business","title":null,"requestsPerMinute":1000,"requestsPerDay":100000,` + none +
		`,{"name":"enterprise","title":null,"requestsPerMinute":null,"requestsPerDay":null,` + none + `]`
	for _, key := range []string{"", "Bearer " + w.key, "Bearer wrong"} {
		r := w.request("GET", "/v1/plans", "", "Authorization", key)
		rec := w.do(r)
		checkAnswer(t, r, rec)
		if diff := cmp.Diff(want, strings.TrimSpace(rec.Body.String())); diff != "" || rec.Code != http.StatusOK {
			t.Errorf("%q: %d (-document +got):\n%s", key, rec.Code, diff)
		}
		r = w.request("GET", "/v1/plans", "", "Authorization", key, "If-None-Match", header(rec, "ETag"))
		again := w.do(r)
		checkAnswer(t, r, again)
		if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%q again: %d %s", key, again.Code, again.Body)
		}
	}
	assert.Equal(t, w.meter.admitted, 0, "requests counted")
	w.pets.err = context.DeadlineExceeded
	if rec := w.do(w.request("GET", "/v1/plans", "")); rec.Code != http.StatusServiceUnavailable ||
		!strings.Contains(rec.Body.String(), `"unavailable"`) {
		t.Errorf("without the store: %d %s", rec.Code, rec.Body)
	}
}

// monthlyPlans sells plans with these months.
type monthlyPlans []plans.Month

func (months monthlyPlans) Sold(context.Context) (sold []plans.Plan, _ error) {
	for _, m := range months {
		sold = append(sold, plans.Plan{Name: "x", Quota: &plans.Quota{PerMinute: 1, PerDay: 2, Month: m}})
	}
	return sold, nil
}

// TestPlansOfMonths: a share is a number of requests, and null is no limit.
func TestPlansOfMonths(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) {
		c.Plans = monthlyPlans{team, {Kind: plans.SomeMonth, Included: 5},
			{Kind: plans.SomeMonth, Overage: plans.Overage{Kind: plans.OverageUnlimited}}}
	})
	r := w.request("GET", "/v1/plans", "")
	rec := w.do(r)
	checkAnswer(t, r, rec)
	const x = `{"name":"x","title":null,"requestsPerMinute":1,"requestsPerDay":2,"requestsPerMonth":`
	want := "[" + x + `1000,"overage":200},` + x + `5,"overage":0},` + x + `0,"overage":null}]`
	assert.Equal(t, strings.TrimSpace(rec.Body.String()), want)
}

// slowPlans takes half a second for each read, and returns the number of the read as a version.
type slowPlans struct{ begun, running, most int }

func (s *slowPlans) Sold(context.Context) ([]plans.Plan, error) {
	s.begun++
	s.running++
	s.most = max(s.most, s.running)
	n := s.begun
	time.Sleep(time.Second / 2)
	s.running--
	return []plans.Plan{{Version: n}}, nil
}

// TestPlansAreReadOnceForAll: a request shares a read that begins after it, never one under way,
// and there is one at a time.
func TestPlansAreReadOnceForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowPlans{}
		a := &api{
			Config:    Config{Stores: Stores{Plans: store}},
			soldPlans: &pagecache.Reads[struct{}, []plans.Plan]{Wait: readTimeout},
		}
		var all sync.WaitGroup
		ask := func(want int) {
			all.Go(func() {
				if got, err := a.readPlans(t.Context()); err != nil || got[0].Version != want {
					t.Errorf("read %v, %v, want %d", got, err, want)
				}
			})
			synctest.Wait()
		}
		ask(1)
		for range 100 {
			ask(2)
		}
		all.Wait()
		ask(3)
		all.Wait()
		assert.Equal(t, store.most, 1, "reads at a time")
	})
}
