package store

import (
	"testing"
	"time"

	"petstore.example/internal/cluster"
)

// TestWhatACrashMayForget: a server's part is on the disk before it acts by it, unless the disk has one that is nearly as new.
func TestWhatACrashMayForget(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	servers := func(b time.Time) cluster.State {
		return cluster.State{Servers: []cluster.Server{{ID: "a", Seen: noon}, {ID: "b", Seen: b}}}
	}
	for name, tt := range map[string]struct {
		before cluster.State
		want   bool
	}{
		"in its turn": {servers(noon.Add(-cluster.RenewEvery)), true},
		"late":        {servers(noon.Add(-cluster.RenewLate - 1)), false},
		"frozen":      {servers(noon.Add(-time.Hour)), false},
		"a new one":   {cluster.State{Servers: []cluster.Server{{ID: "a", Seen: noon}}}, false},
	} {
		if got := wellKnown(tt.before, servers(noon)); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	const onDisk = 600 * time.Millisecond
	if cluster.FenceTimeout < cluster.Lease+onDisk+cluster.RenewLate {
		t.Error("after a crash a server counts as silent while its lease lasts")
	}
}
