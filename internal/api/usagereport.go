package api

import (
	"net/url"
	"strings"
	"time"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/usage"
)

// usageParams are the query parameters of GET /v1/usage.
var usageParams = []string{"month", "by"}

// monthLayout is a month as in 2026-10.
const monthLayout = "2006-01"

// usageRequest is a request for GET /v1/usage. If report is set, it asks for a month's report,
// which may be by key.
type usageRequest struct {
	report, byKey bool
	month         time.Time
}

// asksForReport reports whether a query asks for a report. Such a request counts: otherwise reading
// all months would be free.
func asksForReport(rawQuery string) bool {
	if rawQuery == "" {
		return false
	}
	q, _ := url.ParseQuery(rawQuery) // Malformed parts are found later.
	return q.Has("month") || q.Has("by")
}

// parseUsageRequest reads the query. Without a month, the report is that of the current month.
func (x *exchange) parseUsageRequest() (r usageRequest, err error) {
	if x.Request.URL.RawQuery == "" {
		return r, nil
	}
	q, err := url.ParseQuery(x.Request.URL.RawQuery)
	// Malformed parts in other parameters are ignored, like those parameters.
	if err != nil &&
		(strings.Contains(x.Request.URL.RawQuery, "month=") || strings.Contains(x.Request.URL.RawQuery, "by=")) {
		return r, problem.InvalidParameter.WithMessage(malformedQuery)
	}
	var p problems
	x.checkUnknown(&p, usageParams)
	present := usage.MonthStart(x.asked.Now)
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

func parseMonth(s string) (time.Time, bool) {
	month, err := time.Parse(monthLayout, s)
	return month, err == nil && len(s) == len(monthLayout) && s[0] == '2'
}

// reportOf returns the report of a month for the response. Its sums leave out corrections, which
// belong to days of earlier months.
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
