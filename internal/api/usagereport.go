package api

import (
	"net/url"
	"strings"
	"time"

	"petstore.example/internal/usage"
)

// usageParams are the query parameters of GET /v1/usage.
var usageParams = []string{"month", "by"}

// monthLayout is a month as in 2026-10.
const monthLayout = "2006-01"

// usageRequest is what GET /v1/usage asks for: with a report, that of a month, by key or not.
type usageRequest struct {
	report, byKey bool
	month         time.Time
}

// asksForReport reports whether a query asks for a report. Then the request counts: without that,
// reading all months would be free.
func asksForReport(rawQuery string) bool {
	if rawQuery == "" {
		return false
	}
	q, _ := url.ParseQuery(rawQuery) // What is malformed is found later.
	return q.Has("month") || q.Has("by")
}

// parseUsageRequest reads the query. Without a month, the report is of the current one.
func (x *exchange) parseUsageRequest() (r usageRequest, err error) {
	if x.Request.URL.RawQuery == "" {
		return r, nil
	}
	q, err := url.ParseQuery(x.Request.URL.RawQuery)
	// What is malformed in other parameters is ignored, as they are.
	if err != nil &&
		(strings.Contains(x.Request.URL.RawQuery, "month=") || strings.Contains(x.Request.URL.RawQuery, "by=")) {
		return r, codeInvalidParameter.withMessage(malformedQuery)
	}
	var p problems
	x.checkUnknown(&p, usageParams)
	present := time.Date(x.now.UTC().Year(), x.now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	r.month = present
	if p.given("month", lastOf(q["month"])) {
		r.report = true
		var ok bool
		if r.month, ok = parseMonth(q.Get("month")); !ok {
			p.add("month must be a month from 2000-01 to 2999-12, as in " + present.Format(monthLayout))
		} else if r.month.After(present) {
			p.add("month must not be in the future: the present month is " + present.Format(monthLayout))
		}
	}
	if p.given("by", lastOf(q["by"])) {
		r.report, r.byKey = true, true
		if q.Get("by") != "key" {
			p.add("by must be key")
		}
	}
	if len(p) > 0 {
		return r, p.err()
	}
	return r, nil
}

func lastOf(values []string) parameter {
	p := parameter{times: len(values)}
	if p.times > 0 {
		p.value = values[p.times-1]
	}
	return p
}

func parseMonth(s string) (time.Time, bool) {
	month, err := time.Parse(monthLayout, s)
	return month, err == nil && len(s) == len(monthLayout) && s[0] == '2'
}

// reportOf shows the report of a month: its sums have no corrections, which belong to the days of
// earlier months.
func reportOf(r *usage.Report, q usageRequest) usageMonth {
	m := monthOf(r.Month)
	m.Month, m.Corrections = q.month.Format(monthLayout), []usageCorrection{}
	for _, c := range r.Corrections {
		m.Corrections = append(m.Corrections, usageCorrection{c.Month.Format(monthLayout), c.Admitted, c.Refused})
	}
	if !q.byKey {
		return m
	}
	m.Keys = []usageOfKey{}
	for _, k := range r.Keys {
		of := monthOf(k.Month)
		m.Keys = append(m.Keys, usageOfKey{k.KeyID, k.Name, of.Admitted, of.Refused, of.Days})
	}
	return m
}
