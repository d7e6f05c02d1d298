package api

import (
	"fmt"
	"strings"
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// TestUsageReports: a report has the month, its days and corrections, and by key each key. It counts as one request, and nothing else does.
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
		"month=": "month must be", "month=2026-13": "month must be", "month=2026-1": "month must be", "month=1999-12": "month must be", "month=3000-01": "month must be",
		"month=2026-10&month=2026-10": "month must be given only once", "by=": "by must be key", "by=keys": "by must be key", "by=key&by=key": "by must be given only once",
		"month=2026-10-01": "month must be", "month=2026-12": "month must not be in the future: the present month is 2026-11", "by=key&month=2999-12": "present month is 2026-11", "month=%zz": "malformed",
	} {
		r := w.request("GET", "/v1/usage?"+query, "")
		rec := w.do(r)
		if code := checkAnswer(t, r, rec); rec.Code != 400 || code != "invalid_parameter" || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: %d %s", query, rec.Code, rec.Body)
		}
	}
	// Over the limit the report is refused, and what is free is not.
	quota(plans.Quota{PerMinute: 2, PerDay: 9})(t, w, nil)
	for query, want := range map[string]int{"": 200, "?x=1": 200, "?month=2026-10": 429, "?by=key": 429} {
		assert.Equal(t, w.do(w.request("GET", "/v1/usage"+query, "")).Code, want, "over the limit", query)
	}
}
