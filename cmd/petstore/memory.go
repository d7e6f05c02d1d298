package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	trimEvery = 5 * time.Second
	// trimFrom is how much more than it holds the process may keep for itself while it has little to do.
	trimFrom = 4 << 20
	// From largeHeap on garbage may take half as much as what is held, below it as much, which is the runtime's own rule.
	largeHeap    = 16 << 20
	largePercent = 50
)

// trimMemory gives memory back to the system while there is little to do, until ctx ends: a burst leaves the process with
// twice what it holds, and the runtime by itself keeps that for minutes. Under load it gives nothing back, so that the
// collector keeps its pace; but where much is held, as by a directory of 100,000 callers, it lets garbage take less.
// Where GOGC is set, that holds.
func trimMemory(ctx context.Context) error {
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	before := readMemory()
	pace := os.Getenv("GOGC") == ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			now := readMemory()
			if now.collections-before.collections <= 1 && now.kept > now.live+trimFrom {
				debug.FreeOSMemory()
				now = readMemory()
			}
			if percent := percentFor(now.live); pace && percent != percentFor(before.live) {
				debug.SetGCPercent(percent)
			}
			before = now
		}
	}
}

func percentFor(live uint64) int {
	if live < largeHeap {
		return 100
	}
	return largePercent
}

// memoryUse is what the heap takes of the system (kept), what of it was in use at the last collection (live), in bytes,
// and how many collections there were.
type memoryUse struct{ kept, live, collections uint64 }

func readMemory() memoryUse {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	value := func(i int) uint64 { return samples[i].Value.Uint64() }
	return memoryUse{kept: value(0) + value(1) + value(2), live: value(3), collections: value(4)}
}
