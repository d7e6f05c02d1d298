package simtest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
)

var (
	scheduleFlag = flag.Int64(
		"schedule",
		-1,
		"the one schedule to run of TestSimulation, with every step; needs -seed",
	)
	schedulesFlag = flag.Uint64("schedules", 0, "how many schedules to run of TestSimulation")
)

// planted is a mistake that is made on purpose.
type planted int

const (
	plantedNothing planted = iota
	plantedCountAfterDeciding
	plantedGrantNotReduced
	plantedRefundTwice
	plantedOldReply
	plantedLeaseIgnored
	plantedFlushUnnoticed
	plantedKeyEvicted
	plantedOwnClock
	plantedMarginExceeded
	plantedEndUnrecorded
	plantedNoMargin
	plantedLatestIgnored
	plantedOwnWindow
	plantedNoMonthMargin
	plantedRefundInAnyMonth
	plantedNoTermWithMonths
	plantedNoCarry
	plantedLaterOverwritten
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

// TestSimulation runs the limiter of every server of a cluster, the agreement on terms, and the
// rules of the durable counters against each other, on a simulated clock, through schedules of load
// and faults. Every promise is checked at every decision.
func TestSimulation(t *testing.T) {
	t.Parallel()
	seed := limitstest.Seeded(t)
	if *scheduleFlag >= 0 {
		s := simulate(seed, uint64(*scheduleFlag), plantedNothing, func(line string) { fmt.Println(line) })
		assert.True(t, s.oracle.violation == "", s.oracle.violation)
		return
	}
	schedules := uint64(6_000)
	switch {
	case raced:
		schedules /= 10
	case testing.Short():
		schedules /= 5
	}
	if os.Getenv("PETSTORE_SOAK") == "1" {
		schedules = 1_000_000
	}
	if *schedulesFlag > 0 {
		schedules = *schedulesFlag
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
					if s.oracle.violation != "" {
						t.Errorf(
							"schedule %d of seed %d: %s\n%s",
							i,
							seed,
							s.oracle.violation,
							lastLines(seed, i, plantedNothing),
						)
					}
					mu.Lock()
					totals.add(&s.totals)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d schedules: %s", schedules, totals.String())
	if totals.inTrouble == 0 && !raced && !t.Failed() {
		t.Error("no month ended beside a fault: nothing was reported of that")
	}
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
	return fmt.Sprintf(
		"%d requests, %d admitted, %d refused, %d unavailable, %d refunds, %d waits tried, %d terms, "+
			"%d windows checked to be exact, %d to be within the limit, %d ends of months (%d in trouble), "+
			"%d refused wrongly, %d restarts, %d "+
			"set-backs (%d checked), %d writes, "+
			"%d announced again, %d cached lists; faults: %s",
		t.requests,
		t.admitted,
		t.refused,
		t.unavailable,
		t.refunds,
		t.waits,
		t.terms,
		t.exact,
		t.atMost,
		t.monthEnds,
		t.inTrouble,
		t.wronglyRefused,
		t.restarts,
		t.setBacks,
		t.checked,
		t.writes,
		t.again,
		t.cached,
		strings.Join(faults, ", "),
	)
}

// lastLines runs a schedule again and returns the last of its steps.
func lastLines(seed, schedule uint64, p planted) string {
	var lines []string
	simulate(seed, schedule, p, func(line string) { lines = append(lines, line) })
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}
