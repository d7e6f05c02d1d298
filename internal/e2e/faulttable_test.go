package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"petstore.example/internal/test/wait"
)

// operatorFault is a fault of what the servers depend on: a restored database, a failover, a wrong
// clock, a frozen process.
type operatorFault struct {
	name string
	// try makes the fault under load, checks what must hold, and returns what was measured.
	try func(t *testing.T) faultResult
}

// faultResult is what customers met.
type faultResult struct {
	// over is how many requests were admitted over a limit.
	over int64
	// refused is how many requests were refused that the limits allowed.
	refused int
	// failed is how many ended in 5xx, or without a response; sent is how many were sent, 0 if they
	// were not counted.
	failed, sent int
	// slowest is the longest time of a request; 0 if none was timed.
	slowest time.Duration
	// revoked is how long after its revocation a key was last admitted; 0 if no key was revoked.
	revoked time.Duration
	// again is how long after the database was back all requests were admitted; 0 if it was not set
	// back.
	again time.Duration
}

// checkServed checks how many of all requests were refused or failed although the limits allowed
// them. No promise is broken by one that a server without a processor could not serve, so in make
// test, beside other tests, fewer than half may be. In make soak none may.
func checkServed(t testing.TB, unserved, all int, format string, args ...any) {
	t.Helper()
	switch {
	case unserved == 0:
	case long(), 2*unserved >= all:
		t.Errorf(format, args...)
	default:
		t.Logf(format, args...)
	}
}

// operatorFaults are the rows of docs/faults.md.
var operatorFaults = slices.Concat(
	setBackFaults,
	failoverFaults,
	refundFaults,
	clockFaults,
	feedFaults(),
	commitFaults,
	stallFaults,
	redisFaults,
	uncleanFaults,
)

// faultsAtOnce is how many faults are under way at the same time, each in a deployment of its own:
// most of their time is schedule. More would keep servers from processors for so long that requests
// fail for that.
const faultsAtOnce = 5

// TestOperatorFaults makes every fault, and prints what customers met. Where bounds are checked it
// makes those that have one, one after another.
func TestOperatorFaults(t *testing.T) {
	t.Parallel()
	faults, atOnce := operatorFaults, faultsAtOnce
	if wait.Bounds() && !long() {
		faults, atOnce = slices.Concat(setBackFaults, feedFaults()), 1
	}
	results := make([]faultResult, len(faults))
	var together errgroup.Group
	together.SetLimit(atOnce)
	for i, f := range faults {
		together.Go(func() error {
			t.Run(f.name, func(t *testing.T) {
				r := f.try(t)
				results[i] = r
				if r.revoked > 0 {
					wait.Bound(t, "until a revoked key passed no more", r.revoked, revokedWithin)
				}
				if r.again > 0 {
					wait.Bound(t, "until all requests were admitted again", r.again, admitsAgain)
				}
			})
			return nil
		})
	}
	_ = together.Wait()
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "fault\tover-admitted\twrongly refused\t5xx\tslowest\trevoked")
	for i, f := range faults {
		r := results[i]
		fmt.Fprintf(
			out,
			"%s\t%d\t%d\t%d\t%v\t%v\n",
			f.name,
			r.over,
			r.refused,
			r.failed,
			r.slowest.Round(time.Millisecond),
			r.revoked.Round(time.Millisecond),
		)
	}
	_ = out.Flush()
	t.Logf("what customers met:\n%s", &b)
}
