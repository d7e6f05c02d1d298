//go:build !race

package simtest

import "testing"

const raced = false

// TestSimulationFindsPlantedFaults: the simulation finds mistakes that are made on purpose. Some
// are found by one schedule in thousands, so the seed is always the same one.
func TestSimulationFindsPlantedFaults(t *testing.T) {
	t.Parallel()
	const seed = 12
	for p, name := range map[planted]string{
		plantedCountAfterDeciding: "counting after deciding",
		plantedGrantNotReduced:    "every server takes the same grant",
		plantedRefundTwice:        "refunds count twice",
		plantedOldReply:           "a reply counts after the term",
		plantedLeaseIgnored:       "a server goes on after its lease",
		plantedFlushUnnoticed:     "a flush goes unnoticed",
		plantedKeyEvicted:         "a key's own counter is evicted alone",
		plantedOwnClock:           "a server goes by its own clock",
		plantedMarginExceeded:     "more is unrecorded than the margin",
		plantedEndUnrecorded:      "a term ends with requests that are not recorded",
		plantedNoMargin:           "silent servers have no margin",
		plantedLatestIgnored:      "the latest recorded minute is ignored",
		plantedOwnWindow:          "a tenant begins in the window of its first request",
		plantedNoMonthMargin:      "silent servers have no margin in the month",
		plantedRefundInAnyMonth:   "a refund counts in a later month",
		plantedNoTermWithMonths:   "no term begins when the last release is gone",
		plantedNoCarry:            "Redis's counts of before a set-back are dropped",
		plantedLaterOverwritten:   "counts of a later term in Redis are overwritten",
		plantedIntentNotLeft:      "a write is not announced",
		plantedIntentRemoved:      "a write is not announced for as long as it takes",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for schedule := range uint64(5000) {
				if s := simulate(seed, schedule, p, nil); s.oracle.exceeded || s.oracle.stale {
					t.Logf("%s: schedule %d: %s", name, schedule, s.oracle.violation)
					return
				}
			}
			t.Errorf("not found with seed %d", seed)
		})
	}
}
