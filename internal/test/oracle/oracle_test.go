package oracle_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/oracle"
)

var strict = oracle.Options{RefusedNeverHappens: true}

// TestPlantedFaultsAreFound: the checker finds each fault by the records alone, and calls it by the
// promise that it breaks. Without a fault it finds nothing. The records of decisions (docs/adr)
// tell of all of these.
func TestPlantedFaultsAreFound(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		record, fault string
		breaks        oracle.Promise
	}{
		{"", "", ""},
		{"7", "two servers count apart", oracle.Windows},
		{"20", "a server's clock is 25 h ahead", oracle.Windows},
		{"22", "a key's counter is evicted", oracle.Windows},
		{"12", "a refused request uses the day up", oracle.Refusals},
		{"2", "refused requests are billed", oracle.Bills},
		{"5", "a create is acknowledged before it is stored", oracle.Creates},
		{"5", "a create makes two animals", oracle.Creates},
		{"5", "a repeated create takes effect twice", oracle.Answers},
		{"5", "a repeated order takes effect twice", oracle.Answers},
		{"5", "a replay is made anew", oracle.Answers},
		{"6", "an animal is ordered twice", oracle.Orders},
		{"6", "an order that was refused takes effect", oracle.Orders},
		{"6", "an order is acknowledged before it is stored", oracle.Orders},
		{"40", "a create that was refused takes effect", oracle.Creates},
		{"34", "a stalled change runs later", oracle.Lists},
		{"34", "a change of unknown outcome runs later", oracle.Lists},
		{"8", "a cached list outlives a write", oracle.Lists},
		{"8", "a list goes back", oracle.Lists},
		{"33", "304 after a write", oracle.Lists},
		{"40", "If-Match is ignored", oracle.Lists},
		{"36", "a page of another tenant is served", oracle.Lists},
	} {
		t.Run(row.record+" "+row.fault, func(t *testing.T) {
			t.Parallel()
			r := oracle.Check(newFake(t, row.fault).run(), strict)
			for _, v := range r.Violations[:min(len(r.Violations), 3)] {
				t.Log(v)
			}
			found := slices.ContainsFunc(r.Violations, func(v oracle.Violation) bool { return v.Promise == row.breaks })
			if found != (row.fault != "") || row.fault == "" && len(r.Violations) > 0 {
				t.Errorf("found: %v", found)
			}
			if r.Windows == 0 || r.Refusals == 0 || r.Bills == 0 || r.Creates == 0 || r.Orders == 0 ||
				r.Answers == 0 || r.Lists == 0 {
				t.Errorf("checked nothing of some promise: %+v", r)
			}
		})
	}
}

// TestExceptionsNameTheirFault: a violation is allowed only for the promise of the exception, and
// only beside a fault that it names.
func TestExceptionsNameTheirFault(t *testing.T) {
	t.Parallel()
	all := newFake(t, "a refused request uses the day up").run()
	at := all.Requests[0].Start
	check := func(promise oracle.Promise, fault string, at time.Time) (broken, allowed int) {
		o := strict
		o.Exceptions = []oracle.Exception{
			{Document: "docs/rate-limiting.md", Promise: promise, Faults: []string{"Redis"}, After: time.Second},
		}
		with := all
		with.Faults = []oracle.Fault{{What: fault, Start: at, End: at}}
		r := oracle.Check(with, o)
		return len(r.Violations), r.Allowed["docs/rate-limiting.md"]
	}
	if broken, allowed := check(oracle.Refusals, "Redis flushed", at); broken != 0 || allowed == 0 {
		t.Errorf("beside its fault: %d broken, %d allowed", broken, allowed)
	}
	for what, of := range map[string]struct {
		promise oracle.Promise
		fault   string
		at      time.Time
	}{
		"another promise": {oracle.Windows, "Redis flushed", at},
		"another fault":   {oracle.Refusals, "a server killed", at},
		"another time":    {oracle.Refusals, "Redis flushed", at.Add(time.Hour)},
	} {
		if broken, allowed := check(of.promise, of.fault, of.at); broken == 0 || allowed != 0 {
			t.Errorf("%s: %d broken, %d allowed", what, broken, allowed)
		}
	}
}

// TestRefusedMayHappen: without RefusedNeverHappens a change that was answered with 503 may take
// effect late, as one whose response was lost.
func TestRefusedMayHappen(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"a stalled change runs later", "a change of unknown outcome runs later",
		"a create that was refused takes effect"} {
		if r := oracle.Check(newFake(t, fault).run(), oracle.Options{}); len(r.Violations) > 0 {
			t.Errorf("%s: %+v", fault, r.Violations)
		}
	}
}

// TestSettled: beside a fault that a document names, a change of unknown outcome may happen after
// its response.
func TestSettled(t *testing.T) {
	t.Parallel()
	o := strict
	o.Exceptions = []oracle.Exception{
		{Document: "docs/errors.md", Promise: oracle.Settled, Faults: []string{"Postgres frozen"}},
	}
	for fault, broken := range map[string]bool{"Postgres frozen": false, "Postgres killed": true} {
		all := newFake(t, "a change of unknown outcome runs later").run()
		all.Faults = []oracle.Fault{
			{What: fault, Start: all.Requests[0].Start, End: all.Requests[0].Start.Add(time.Minute)},
		}
		if r := oracle.Check(all, o); (len(r.Violations) > 0) != broken {
			t.Errorf("%s: %v", fault, r.Violations)
		}
	}
}

// TestReadNamesWhatItCannotRead: a file that was cut off is an error.
func TestReadNamesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	all, err := oracle.Read(strings.NewReader(`{"Tenant":{"Name":"acme"}}` + "\n" + `{"Request":{"Ten`))
	if err == nil || len(all.Tenants) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestSetBack: what a database that was set back has lost may be gone, and a name may be an earlier
// one. What came before and afterwards is judged as ever.
func TestSetBack(t *testing.T) {
	t.Parallel()
	for fault, allowed := range map[string]bool{"a create is acknowledged before it is stored": true,
		"a stalled change runs later": true, "a create makes two animals": false} {
		all := newFake(t, fault).run()
		first, last := all.Requests[0].Start, all.Requests[len(all.Requests)-1].End
		all.Faults = []oracle.Fault{
			{
				What:    "Postgres restored",
				SetBack: first.Add(3 * time.Second),
				Start:   last.Add(-90 * time.Second),
				End:     last.Add(-40 * time.Second),
			},
		}
		if r := oracle.Check(all, strict); (len(r.Violations) == 0) != allowed {
			t.Errorf("%s: %v", fault, r.Violations)
		}
	}
}

// TestUnderWayWhenSetBack: a change that is under way when servers have noticed that the database
// was set back may take effect after that.
func TestUnderWayWhenSetBack(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	list := func(from int, name string) oracle.Request {
		return oracle.Request{
			Tenant: "acme",
			Method: http.MethodGet,
			Start:  at(from),
			End:    at(from + 1),
			Status: http.StatusOK,
			Items:  []oracle.Item{{ID: 1, Name: name}},
		}
	}
	patch := oracle.Request{
		Tenant: "acme",
		Method: http.MethodPatch,
		ID:     1,
		Name:   "r-1",
		Start:  at(13),
		End:    at(20),
		Status: http.StatusOK,
	}
	for name, allowed := range map[string]bool{"r-1": true, "r-0": false} {
		all := oracle.Records{
			Tenants:  []oracle.Tenant{{Name: "acme", PerMinute: 60, PerDay: 60, Registers: map[int64]string{1: "r-0"}}},
			Requests: []oracle.Request{list(0, "r-0"), patch, list(15, "r-0"), list(17, "r-1"), list(21, name)},
			Faults:   []oracle.Fault{{What: "Postgres restored", SetBack: at(10), Start: at(11), End: at(14)}},
		}
		if r := oracle.Check(all, strict); (len(r.Violations) == 0) != allowed {
			t.Errorf("%s: %v", name, r.Violations)
		}
	}
}

// TestMonths: a month admits its limit and no more, and refuses only when that may be used up.
func TestMonths(t *testing.T) {
	t.Parallel()
	const full = "monthly_quota_exceeded"
	end := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for what, test := range map[string]struct {
		codes  string // admitted or refused, and | for the month's end
		breaks oracle.Promise
	}{
		"as promised":        {"aaar|aaarr", ""},
		"one too many":       {"aaaa|a", oracle.Windows},
		"in the next month":  {"aa|aaaa", oracle.Windows},
		"refused too early":  {"aar|a", oracle.Refusals},
		"used up for ever":   {"aaar|r", oracle.Refusals},
		"the day is another": {"aaa|aaa", ""},
	} {
		all := oracle.Records{Tenants: []oracle.Tenant{{Name: "acme", PerMinute: 9, PerDay: 9, PerMonth: 3}}}
		at := end.Add(-time.Hour)
		for _, c := range test.codes {
			q := oracle.Request{Tenant: "acme", Start: at, End: at.Add(time.Second), Status: http.StatusOK, Limit: 3}
			switch at = at.Add(time.Minute); c {
			case '|':
				at = end
				continue
			case 'r':
				q.Status, q.Code = http.StatusTooManyRequests, full
			}
			all.Requests = append(all.Requests, q)
		}
		r := oracle.Check(all, strict)
		found := slices.ContainsFunc(r.Violations, func(v oracle.Violation) bool { return v.Promise == test.breaks })
		if found != (test.breaks != "") || test.breaks == "" && len(r.Violations) > 0 {
			t.Errorf("%s: %v", what, r.Violations)
		}
	}
}
