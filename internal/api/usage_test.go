package api

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// usageExample returns one of the answers that the document shows.
func usageExample(t *testing.T, name string) usageAnswer {
	t.Helper()
	inJSON, err := yaml.YAMLToJSON(openAPIText)
	assert.NoError(t, err)
	var document struct {
		Paths struct {
			Usage struct {
				Get struct {
					Responses map[string]struct {
						Content map[string]struct {
							Examples map[string]struct{ Value usageAnswer }
						}
					}
				}
			} `json:"/usage"`
		}
	}
	assert.NoError(t, json.Unmarshal(inJSON, &document))
	return document.Paths.Usage.Get.Responses["200"].Content["application/json"].Examples[name].Value
}

func readUsage(t *testing.T, rec *httptest.ResponseRecorder) (u usageAnswer) {
	t.Helper()
	if err := json.Unmarshal(rec.Body.Bytes(), &u); err != nil || rec.Code != 200 {
		t.Fatalf("%d %s, %v", rec.Code, rec.Body, err)
	}
	return u
}

// TestTheGuideShowsTheDocumentsUsage: docs/rate-limiting.md shows the same answer.
func TestTheGuideShowsTheDocumentsUsage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/rate-limiting.md")
	assert.NoError(t, err)
	_, shown, _ := strings.Cut(string(text), "### What you used")
	_, shown, _ = strings.Cut(shown, "```json\n")
	shown, _, _ = strings.Cut(shown, "```")
	var got usageAnswer
	assert.NoError(t, json.Unmarshal([]byte(shown), &got))
	assert.DeepEqual(t, got, usageExample(t, "usual"), "-document +guide")
}

// acme returns the claim of acme's key, which it changes first.
func (w *fixture) acme(t *testing.T, change func(*keys.Caller)) limits.Claim {
	t.Helper()
	var c limits.Claim
	w.directory.change(t, w.key, func(caller *keys.Caller) {
		change(caller)
		c = gate.Claim(caller)
	})
	return c
}

// take counts n requests.
func (w *fixture) take(t *testing.T, c limits.Claim, n int) {
	t.Helper()
	for range n {
		if d := w.limiter.Take(t.Context(), c, w.clock()); !d.Admitted {
			t.Fatalf("refused: %+v", d)
		}
	}
}

// team is the month of the plan that the document's examples have.
var team = plans.Month{Kind: plans.SomeMonth, Included: 1000,
	Overage: plans.Overage{Kind: plans.OverageShare, Value: 20}}

// TestUsage: the answers are those that the document shows.
func TestUsage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		now       time.Time
		plan      string
		quota     plans.Quota
		perMinute int64
		// dayBefore was used of the day before this minute; others, and then own, are used in it:
		// by other keys, by this one.
		dayBefore   int64
		others, own int
		rateWindow  int64
		last        [][2]int64
		next        *plans.Tenant
		ends        time.Time
		// used was used of the month before this minute, and week since weekStart.
		used, week int64
		weekStart  time.Time
	}{
		"usual": {
			time.Date(2026, time.November, 3, 9, 35, 0, 0, time.UTC), plans.Free,
			plans.Quota{PerMinute: 60, PerDay: 1000}, 0,
			638, 0, 3, 111, [][2]int64{{812, 12}, {641, 0}}, nil, time.Time{}, 0, 0, time.Time{},
		},
		"month": {
			time.Date(2026, time.November, 3, 9, 35, 0, 0, time.UTC), "team",
			plans.Quota{PerMinute: 60, PerDay: 1000, Month: team}, 0,
			238, 0, 3, 111, [][2]int64{{812, 12}, {241, 0}}, nil, time.Time{},
			1050, 1053, time.Date(2026, time.November, 2, 8, 0, 0, 0, time.UTC),
		},
		"key": {
			time.Date(2026, time.November, 1, 9, 0, 0, 0, time.UTC), plans.Pro,
			plans.Quota{PerMinute: 300, PerDay: 10_000}, 50,
			0, 1, 50, 51, [][2]int64{{51, 4}},
			&plans.Tenant{ID: 1, Name: "acme", Plan: plans.Free, Quota: plans.Quota{PerMinute: 60, PerDay: 1000}},
			time.Date(2026, time.November, 15, 0, 0, 0, 0, time.UTC), 0, 0, time.Time{},
		},
	} {
		w := newFixture(t)
		w.setClock(test.now)
		c := w.acme(t, func(c *keys.Caller) {
			c.Tenant = &plans.Tenant{ID: 1, Name: "acme", Plan: test.plan, Quota: test.quota}
			c.PerMinute = test.perMinute
			if test.next != nil {
				// A version that changes no number comes before.
				again := *c.Tenant
				again.Version, again.Until, again.Next = 2, test.ends, test.next
				c.Tenant.Until, c.Tenant.Next = test.ends.AddDate(0, 0, -1), &again
			}
		})
		w.limiter.(*limits.Memory).Seed(1, limits.DayAt(test.now), test.dayBefore)
		w.limiter.(*limits.Memory).SeedMonth(1, limits.MonthAt(test.now), test.used)
		w.usage.week, w.usage.weekStart = test.week, test.weekStart
		w.usage.periods = []usage.PeriodUse{{Month: test.quota.Month, Admitted: test.week}}
		other := c
		other.KeyID, other.KeyPerMinute = "key_other", 0
		w.take(t, other, test.others)
		w.take(t, c, test.own)
		w.usage.rateWindow, w.usage.last = test.rateWindow, test.last
		got := readUsage(t, w.do(w.request("GET", "/v1/usage", "")))
		assert.DeepEqual(t, got, usageExample(t, name), name, "-document +answer")
	}
}

// TestForecastOfADayThatIsOver is how the day looks when nothing remains of it.
func TestForecastOfADayThatIsOver(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.take(t, w.acme(t, func(c *keys.Caller) {
		c.Tenant = &plans.Tenant{ID: 1, Name: "acme", Plan: plans.Free, Quota: plans.Quota{PerMinute: 3, PerDay: 3}}
	}), 3)
	got := readUsage(t, w.do(w.request("GET", "/v1/usage", ""))).Forecast
	assert.DeepEqual(t, got, usageForecast{PerHour: 0, DayRunsOutAt: new(at)})
}

// TestUsageReports: a report has the month, its days and corrections, and by key each key. It
// counts as one request, and nothing else does.
func TestUsageReports(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.usage.last = [][2]int64{{7, 1}}
	for query, want := range map[string]string{
		"":                      `"days":20 corrections keys 0`,
		"?x=1":                  `"days":20 corrections keys 0`,
		"?by=key":               `"days":20 2026-11 corrections 2026-10 keys 2`,
		"?month=2026-11":        `"days":20 2026-11 corrections 2026-10 keys 0`,
		"?month=2026-02":        `"days":28 2026-02 corrections 2026-01 keys 0`,
		"?by=key&month=2024-02": `"days":29 2024-02 corrections 2024-01 keys 2`,
		"?month=2000-01":        `"days":31 2000-01 corrections 1999-12 keys 0`,
	} {
		before := w.meter.admitted
		u := readUsage(t, w.do(w.request("GET", "/v1/usage"+query, "")))
		got := fmt.Sprintf(`"days":%d`, len(u.Month.Days))
		if u.Month.Month != "" {
			got += " " + u.Month.Month
		}
		got += " corrections"
		for _, c := range u.Month.Corrections {
			got += " " + c.Month
		}
		if got += fmt.Sprintf(" keys %d", len(u.Month.Keys)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		sum := int64(0)
		for i, k := range u.Month.Keys {
			if sum += k.Admitted; len(k.Days) != len(u.Month.Days) || k.Name != []string{"ci", ""}[i] {
				t.Errorf("%s: key %+v", query, k)
			}
		}
		if len(u.Month.Keys) > 0 && sum != u.Month.Admitted {
			t.Errorf("%s: the keys have %d, all together %d", query, sum, u.Month.Admitted)
		}
		if counted, report := w.meter.admitted-before, strings.ContainsAny(query, "my"); counted == 1 != report {
			t.Errorf("%s: %d requests were counted", query, counted)
		}
	}
	for query, want := range map[string]string{
		"month=": "month must be", "month=2026-13": "month must be", "month=2026-1": "month must be",
		"month=1999-12": "month must be", "month=3000-01": "month must be",
		"month=2026-10&month=2026-10": "month must be given only once", "by=": "by must be key",
		"by=keys": "by must be key", "by=key&by=key": "by must be given only once",
		"month=2026-10-01": "month must be", "month=2026-12": "month must not be in the future: the present month " +
			"is 2026-11", "by=key&month=2999-12": "present month is 2026-11", "month=%zz": "malformed",
	} {
		r := w.request("GET", "/v1/usage?"+query, "")
		rec := w.do(r)
		if code := checkAnswer(
			t,
			r,
			rec,
		); rec.Code != 400 || code != "invalid_parameter" ||
			!strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: %d %s", query, rec.Code, rec.Body)
		}
	}
	// Over the limit the report is refused, and what is free is not.
	quota(plans.Quota{PerMinute: 2, PerDay: 9})(t, w, nil)
	for query, want := range map[string]int{"": 200, "?x=1": 200, "?month=2026-10": 429, "?by=key": 429} {
		assert.Equal(t, w.do(w.request("GET", "/v1/usage"+query, "")).Code, want, "over the limit", query)
	}
}
