package usage_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

func included(n int64) plans.Month { return plans.Month{Kind: plans.SomeMonth, Included: n} }

func TestOverages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		periods []usage.PeriodUse
		want    []int64
	}{
		"none":            {nil, []int64{}},
		"all included":    {[]usage.PeriodUse{{included(100), 100}}, []int64{0}},
		"above":           {[]usage.PeriodUse{{included(100), 103}}, []int64{3}},
		"nothing is":      {[]usage.PeriodUse{{included(0), 3}}, []int64{3}},
		"without a month": {[]usage.PeriodUse{{plans.Month{}, 500}, {included(100), 103}}, []int64{0, 3}},
		// What was overage stays overage, and the rest of the higher number is left.
		"an upgrade":  {[]usage.PeriodUse{{included(100), 130}, {included(200), 90}}, []int64{30, 20}},
		"a downgrade": {[]usage.PeriodUse{{included(200), 150}, {included(100), 10}}, []int64{0, 10}},
		"a boost": {
			[]usage.PeriodUse{{included(100), 90}, {included(300), 150}, {included(100), 7}}, []int64{0, 0, 7},
		},
	} {
		assert.DeepEqual(t, usage.Overages(test.periods), test.want, name)
	}
}

// TestOveragesAreThoseOfRequests: one request after the other, in periods of any numbers, gives the
// same.
func TestOveragesAreThoseOfRequests(t *testing.T) {
	t.Parallel()
	rounds := 20_000
	if testing.Short() {
		rounds /= 5
	}
	for seed := range rounds {
		random := rand.New(rand.NewPCG(uint64(seed), 60))
		periods := make([]usage.PeriodUse, random.IntN(8))
		replayed, counter := make([]int64, len(periods)), int64(0)
		for i := range periods {
			p := usage.PeriodUse{Admitted: random.Int64N(60)}
			if random.IntN(4) > 0 {
				p.Month = included(random.Int64N(120))
			}
			for range p.Admitted {
				if p.Month.Kind != plans.SomeMonth {
					continue
				}
				if counter++; counter > p.Month.Included {
					replayed[i]++
				}
			}
			periods[i] = p
		}
		if got := usage.Overages(periods); !slices.Equal(got, replayed) {
			t.Fatalf("seed %d: %+v have the overages %v, one request after the other %v", seed, periods, got, replayed)
		}
	}
}
