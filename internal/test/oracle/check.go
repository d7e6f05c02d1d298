package oracle

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Promise is one of what is checked.
type Promise string

// The promises. Settled is part of Lists: an exception to it makes a change one that may happen at
// any time.
const (
	Windows  Promise = "no window admits more than its limit"
	Refusals Promise = "a refused request is not counted"
	Bills    Promise = "nothing is billed that was not admitted"
	Creates  Promise = "an acknowledged create is there once, a refused one never"
	Lists    Promise = "no list is stale, and no acknowledged change is overwritten by an earlier one"
	Settled  Promise = "a change of unknown outcome has happened by its response, or never will"
)

// Exception is what a document says is not guaranteed.
type Exception struct {
	// Document names the file and its sentence.
	Document string
	Promise  Promise
	// Faults are beginnings of the names of faults. A violation is allowed if it is between the
	// start and After beyond the end of one of each.
	Faults []string
	After  time.Duration
}

// Options say what to expect.
type Options struct {
	// RefusedNeverHappens: a write that was answered with 503 has not taken effect, and never will.
	// If its code is outcome_unknown, it may have, but nothing happens after the response.
	// Otherwise such a write may take effect at any time, as one whose response was lost.
	RefusedNeverHappens bool
	// ClockError is how much the instants differ by which windows are decided and requests are
	// recorded.
	ClockError time.Duration
	Exceptions []Exception
}

// Violation is a promise that was broken, between two instants.
type Violation struct {
	Promise  Promise
	Tenant   string
	What     string
	From, To time.Time
}

func (v Violation) String() string {
	const at = "15:04:05.000"
	return fmt.Sprintf(
		"%s: %s: %s (%s to %s)",
		v.Promise,
		v.Tenant,
		v.What,
		v.From.UTC().Format(at),
		v.To.UTC().Format(at),
	)
}

// Report is what Check found.
type Report struct {
	Violations []Violation
	// Allowed counts violations by the document that allows them.
	Allowed map[string]int
	// Windows, Refusals, Bills, Creates and Lists are how much was checked of each promise.
	Windows, Refusals, Bills, Creates, Lists int
}

// judge is one tenant's records in the order of their starts.
type judge struct {
	Options
	tenant   Tenant
	requests []Request
	faults   []Fault
	report   *Report
}

// Check compares the records with the promises.
func Check(all Records, o Options) Report {
	report := Report{Allowed: map[string]int{}}
	of := map[string][]Request{}
	for _, q := range all.Requests {
		of[q.Tenant] = append(of[q.Tenant], q)
	}
	for _, t := range all.Tenants {
		j := &judge{Options: o, tenant: t, requests: of[t.Name], faults: all.Faults, report: &report}
		slices.SortStableFunc(
			j.requests,
			func(a, b Request) int { return cmp.Compare(a.Start.UnixNano(), b.Start.UnixNano()) },
		)
		j.unpackUnchanged()
		j.checkWindows()
		j.checkBill()
		j.checkCreates()
		j.checkRegisters()
	}
	return report
}

// excepted returns the document that does not guarantee the promise between two instants, or "".
func (o Options) excepted(p Promise, from, to time.Time, faults []Fault) string {
	for _, e := range o.Exceptions {
		beside := func(name string) bool {
			return slices.ContainsFunc(faults, func(f Fault) bool {
				return strings.HasPrefix(f.What, name) && f.Start.Before(to) && f.End.Add(e.After).After(from)
			})
		}
		if e.Promise == p && !slices.ContainsFunc(e.Faults, func(name string) bool { return !beside(name) }) {
			return e.Document
		}
	}
	return ""
}

// broken notes a violation, unless a document allows it.
func (j *judge) broken(p Promise, from, to time.Time, format string, args ...any) {
	if document := j.excepted(p, from, to, j.faults); document != "" {
		j.report.Allowed[document]++
		return
	}
	j.report.Violations = append(
		j.report.Violations,
		Violation{p, j.tenant.Name, fmt.Sprintf(format, args...), from, to},
	)
}

// admitted reports whether the response says that the request counted.
func (q Request) admitted() bool {
	return q.Status != 0 && q.Status < 500 && q.Status != http.StatusUnauthorized &&
		q.Status != http.StatusTooManyRequests &&
		q.Used == nil
}

// refused reports whether the response says that nothing has happened.
func (j *judge) refused(q Request) bool {
	return q.Status >= 400 && q.Status < 500 ||
		j.RefusedNeverHappens && q.Status == http.StatusServiceUnavailable && q.Code != unknownCode
}

// shows reports whether the request read animals.
func (q Request) shows() bool {
	return q.Method == http.MethodGet && q.Status == http.StatusOK && q.Used == nil
}

// unpackUnchanged gives responses of 304 the items of the response whose ETag was sent.
func (j *judge) unpackUnchanged() {
	tagged := map[string]Request{}
	for _, q := range j.requests {
		if q.shows() {
			tagged[q.ETag+fmt.Sprint(q.Asked)] = q
		}
	}
	for i := range j.requests {
		if q := &j.requests[i]; q.Status == http.StatusNotModified {
			full := tagged[q.IfNoneMatch+fmt.Sprint(q.Asked)]
			q.Status, q.Items, q.Next = http.StatusOK, full.Items, full.Next
		}
	}
}
