package store

import (
	"testing"
	"time"

	"petstore.example/internal/fleet"
)

// TestWhatACrashMayForget: a server's part is on the disk before it acts by it, unless the disk has one that is nearly as new.
func TestWhatACrashMayForget(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	servers := func(b time.Time) fleet.State {
		return fleet.State{Servers: []fleet.Server{{ID: "a", Seen: noon}, {ID: "b", Seen: b}}}
	}
	for name, tt := range map[string]struct {
		before fleet.State
		want   bool
	}{
		"in its turn": {servers(noon.Add(-fleet.RenewEvery)), true},
		"late":        {servers(noon.Add(-fleet.RenewLate - 1)), false},
		"frozen":      {servers(noon.Add(-time.Hour)), false},
		"a new one":   {fleet.State{Servers: []fleet.Server{{ID: "a", Seen: noon}}}, false},
	} {
		if got := wellKnown(tt.before, servers(noon)); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	const onDisk = 600 * time.Millisecond
	if fleet.Silence < fleet.Lease+onDisk+fleet.RenewLate {
		t.Error("after a crash a server counts as silent while its lease lasts")
	}
}
