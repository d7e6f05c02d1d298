package oracle

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Promise is one of the checked promises.
type Promise string

// The promises. Settled is a part of Lists: where an exception to Settled applies, a change may
// happen at any time.
const (
	Windows  Promise = "no window admits more than its limit"
	Refusals Promise = "a refused request is not counted"
	Bills    Promise = "nothing is billed that was not admitted"
	Creates  Promise = "an acknowledged create is there once, a refused one never"
	Orders   Promise = "an animal is ordered once, an acknowledged order is there, a refused one never"
	Answers  Promise = "all responses to one idempotency key are the same"
	Lists    Promise = "no list is stale, and no acknowledged change is overwritten by an earlier one"
	Settled  Promise = "a change of unknown outcome has happened by its response, or never will"
)

// Exception is something that is not guaranteed, as a document says.
type Exception struct {
	// Document names the file and the sentence in it.
	Document string
	Promise  Promise
	// Faults are prefixes of the names of faults. A violation is allowed if for each prefix there
	// is such a fault, and the violation lies between the fault's start and After past its end.
	Faults []string
	After  time.Duration
}

// Options say what to expect.
type Options struct {
	// RefusedNeverHappens says that a write answered with 503 has not taken effect and never will.
	// If its code is outcome_unknown, it may have taken effect, but will not after the response.
	// Without this option such a write may take effect at any time, like one whose response was
	// lost.
	RefusedNeverHappens bool
	// ClockError is how far the instants of windows and of records may differ.
	ClockError time.Duration
	Exceptions []Exception
}

// Violation is a promise that was broken between two instants.
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

// Report is the result of Check.
type Report struct {
	Violations []Violation
	// Allowed counts the allowed violations by the document of their exception.
	Allowed map[string]int
	// Windows, Refusals, Bills, Creates, Orders, Answers and Lists count the checks of each
	// promise. A key's first answer does not count.
	Windows, Refusals, Bills, Creates, Orders, Answers, Lists int
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
		j.checkOrders()
		j.checkAnswers()
		j.checkRegisters()
	}
	return report
}

// excepted returns the document of an exception to the promise that covers the time between two
// instants, "" for none.
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

// broken records a violation, unless a document allows it.
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

// refused reports whether the response says that nothing has happened and nothing will.
func (j *judge) refused(q Request) bool {
	return q.Status >= 400 && q.Status < 500 ||
		j.RefusedNeverHappens && q.Status == http.StatusServiceUnavailable && q.Code != unknownCode
}

// shows reports whether the request read animals.
func (q Request) shows() bool {
	return q.Method == http.MethodGet && q.Status == http.StatusOK && q.Used == nil && !q.Orders
}

// unpackUnchanged fills the items of each 304 from the response whose ETag the request sent.
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
