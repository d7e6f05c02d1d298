package simtest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"petstore.example/internal/test/limitstest"
)

var scheduleFlag = flag.Int64("schedule", -1, "the one schedule to run of TestSimulation, with every step; needs -seed")

// planted is a mistake that is made on purpose.
type planted int

const (
	plantedNothing planted = iota
	plantedCountAfterDeciding
	plantedGrantNotReduced
	plantedRefundTwice
	plantedNoReport
	plantedIdleReportLost
	plantedOldReply
	plantedLeaseIgnored
	plantedFlushUnnoticed
	plantedKeyEvicted
	plantedResultTwice
	plantedOwnClock
	plantedMarginExceeded
	plantedEndUnrecorded
	plantedLaterOverwritten
	plantedSetBackUnreported
	plantedSetBackTermDecides
	plantedSetBackNotWaited
	plantedIntentNotLeft
	plantedIntentRemoved
)

// simSteps is how many steps a schedule has.
const simSteps = 16

// simulate runs one schedule: every fifth has no faults.
func simulate(seed, schedule uint64, p planted, trace func(string)) *simulation {
	s := newSimulation(seed, schedule, p, trace)
	s.oracle.onlyLimits = p != plantedNothing
	s.run(simSteps, schedule%5 != 0)
	return s
}

func (s *simulation) tracef(format string, args ...any) {
	if s.trace != nil {
		s.trace(s.now.Format("15:04:05.000 ") + fmt.Sprintf(format, args...))
	}
}

// knownViolations are schedules that break a promise and are not mended yet, by seed and schedule, each with the reason.
var knownViolations = map[[2]uint64]string{
	{18377355499942502803, 76616}: "server 3 refuses a request, and no window is full: too few are admitted, never too many. " +
		"It is for the redesign in which a term begins where the records stand",
}

// TestKnownViolationsRemain: one that does not occur any more is taken off the list.
func TestKnownViolationsRemain(t *testing.T) {
	t.Parallel()
	for known, why := range knownViolations {
		s := simulate(known[0], known[1], plantedNothing, nil)
		if s.oracle.violation == "" {
			t.Errorf("schedule %d of seed %d breaks nothing any more: take it off knownViolations", known[1], known[0])
		}
		t.Logf("schedule %d of seed %d: %s (%s)", known[1], known[0], why, s.oracle.violation)
	}
}

// TestSimulation runs the limiter of every server of a cluster, the agreement on terms, and the rules of the durable counters against each
// other, on a simulated clock, through schedules of load and faults. Every promise is checked at every decision.
func TestSimulation(t *testing.T) {
	t.Parallel()
	seed := limitstest.Seeded(t)
	if *scheduleFlag >= 0 {
		s := simulate(seed, uint64(*scheduleFlag), plantedNothing, func(line string) { fmt.Println(line) })
		if s.oracle.violation != "" {
			t.Error(s.oracle.violation)
		}
		return
	}
	schedules := uint64(6_000)
	if raced {
		schedules /= 10
	}
	if os.Getenv("PETSTORE_SOAK") == "1" {
		schedules = 200_000
	}
	var mu sync.Mutex
	var totals simTotals
	var next atomic.Uint64
	t.Run("schedules", func(t *testing.T) {
		for worker := range 4 {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for i := next.Add(1) - 1; i < schedules && !t.Failed(); i = next.Add(1) - 1 {
					s := simulate(seed, i, plantedNothing, nil)
					if _, known := knownViolations[[2]uint64{seed, i}]; s.oracle.violation != "" && !known {
						t.Errorf("schedule %d of seed %d: %s\n%s", i, seed, s.oracle.violation, lastLines(seed, i, plantedNothing))
					}
					mu.Lock()
					totals.add(&s.totals)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d schedules: %s", schedules, totals.String())
	for f, n := range totals.faults {
		// A tenth of the schedules may lack a rare one.
		if n == 0 && !raced && !t.Failed() {
			t.Errorf("no fault of kind %v: nothing was reported of it", simFault(f))
		}
	}
}

func (t *simTotals) String() string {
	var faults []string
	for f, n := range t.faults {
		faults = append(faults, fmt.Sprintf("%v %d", simFault(f), n))
	}
	return fmt.Sprintf("%d requests, %d admitted, %d refused, %d unavailable, %d refunds, %d waits tried, %d terms, "+
		"%d windows checked to be exact, %d to be within the limit, %d restarts, %d relayed calls, %d writes, %d announced again, %d cached lists; faults: %s",
		t.requests, t.admitted, t.refused, t.unavailable, t.refunds, t.waits, t.terms, t.exact, t.atMost, t.restarts, t.relayed, t.writes, t.again, t.cached,
		strings.Join(faults, ", "))
}

// lastLines runs a schedule again and returns the last of its steps.
func lastLines(seed, schedule uint64, p planted) string {
	var lines []string
	simulate(seed, schedule, p, func(line string) { lines = append(lines, line) })
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}
