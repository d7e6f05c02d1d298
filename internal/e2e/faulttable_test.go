package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
)

// operatorFault is a fault of what the servers depend on: a restored database, a failover, a wrong clock, a frozen process.
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
	// failed is how many ended in 5xx, or without a response.
	failed int
	// slowest is the longest time of a request; 0 if none was timed.
	slowest time.Duration
	// revoked is how long after its revocation a key was last admitted; 0 if no key was revoked.
	revoked time.Duration
	// doubts are failures that a busy machine causes, too: requests that were refused or failed because a server had no processor.
	doubts []string
}

// doubt notes a failure that may be the machine's.
func (r *faultResult) doubt(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Logf(format, args...)
	r.doubts = append(r.doubts, fmt.Sprintf(format, args...))
}

// operatorFaults are the rows of docs/faults.md.
var operatorFaults = slices.Concat(setBackFaults, refundFaults, clockFaults, feedFaults(), commitFaults, stallFaults, redisFaults, uncleanFaults)

// faultsAtOnce is how many faults are under way at the same time, each in a deployment of its own: most of their time is schedule. More
// would keep servers from processors for so long that requests fail for that.
const faultsAtOnce = 5

// TestOperatorFaults makes every fault, and prints what customers met. One that leaves a doubt is made again, alone.
func TestOperatorFaults(t *testing.T) {
	results := make([]faultResult, len(operatorFaults))
	var together errgroup.Group
	together.SetLimit(faultsAtOnce)
	for i, f := range operatorFaults {
		together.Go(func() error {
			t.Run(f.name, func(t *testing.T) { results[i] = f.try(t) })
			return nil
		})
	}
	_ = together.Wait()
	for i, f := range operatorFaults {
		if len(results[i].doubts) == 0 {
			continue
		}
		t.Logf("%s: the machine may have been busy; once more", f.name)
		t.Run(f.name+" once more", func(t *testing.T) {
			if results[i] = f.try(t); len(results[i].doubts) > 0 {
				t.Errorf("a second time: %q", results[i].doubts)
			}
		})
	}
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "fault\tover-admitted\twrongly refused\t5xx\tslowest\trevoked")
	for i, f := range operatorFaults {
		r := results[i]
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%v\t%v\n", f.name, r.over, r.refused, r.failed, r.slowest.Round(time.Millisecond), r.revoked.Round(time.Millisecond))
	}
	_ = out.Flush()
	t.Logf("what customers met:\n%s", &b)
}
