package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	trimEvery = 5 * time.Second
	// trimFrom is how much more than it holds the process may keep for itself while it has little to do.
	trimFrom = 4 << 20
	// room is what a heap may grow to before it is collected. The runtime's own rule is twice what is held, and collects a
	// server that holds 3 MB a hundred times a second under load: a twentieth of its processor time.
	room = 32 << 20
	// From largeHeap on garbage may take a third of what is held: what it has taken stays in use, since it lay between what is held.
	largeHeap    = 16 << 20
	largePercent = 35
)

// trimMemory gives memory back to the system while there is little to do, until ctx ends: a burst leaves the process with
// twice what it holds, and the runtime by itself keeps that for minutes. Under load it gives nothing back, so that the
// collector keeps its pace; but where little is held it lets garbage take more, and where much is held, as by a directory of
// 100,000 callers, less.
// Where GOGC is set, that holds.
func trimMemory(ctx context.Context) error {
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	before := readMemory()
	if os.Getenv("GOGC") == "" {
		new(pacer).start(ctx)
	}
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
			before = now
		}
	}
}

// pacer sets after each collection how much garbage there may be until the next one.
type pacer struct{ percent int }

// start begins to set it, until ctx ends.
func (p *pacer) start(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	if percent := percentFor(readMemory().live); percent != p.percent {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
	// The next collection finds that nobody holds this.
	runtime.AddCleanup(&struct{ _ [64]byte }{}, func(p *pacer) { p.start(ctx) }, p)
}

// percentFor has few values, so that it rarely changes.
func percentFor(live uint64) int {
	for held := uint64(room / 8); held <= largeHeap; held *= 2 {
		if live < held {
			return int(room/held-1) * 100
		}
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
