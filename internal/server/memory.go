package server

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
	// trimFrom is how much unused memory an idle process may keep.
	trimFrom = 4 << 20
	// minHeap is the size to which a small heap may grow before it is collected. By the runtime's
	// own rule, twice the live heap, a server with 3 MB is collected 30 times a second under load.
	// That takes a ninth of its processor time, and otherwise a fortieth.
	minHeap = 32 << 20
	// A heap of largeHeap or more may grow by largePercent. Its garbage lies between live objects,
	// so its memory cannot be given back.
	largeHeap    = 16 << 20
	largePercent = 35
)

// trimMemory returns memory to the system while the process is idle, until ctx ends. After a burst
// the process has twice its live heap, and the runtime alone keeps that for minutes. Under load
// trimMemory returns nothing.
//
// Unless GOGC is set, it also sets the percentage by which the heap may grow: more for a small
// heap, less for a large one, such as a directory of 100,000 callers.
func trimMemory(ctx context.Context) error {
	before := readMemory()
	if os.Getenv("GOGC") == "" {
		new(pacer).start(ctx)
	}
	return every(ctx, trimEvery, func() {
		now := readMemory()
		if now.collections-before.collections <= 1 && now.heap > now.live+trimFrom {
			debug.FreeOSMemory()
			now = readMemory()
		}
		before = now
	})
}

// pacer sets the GC percentage after each collection.
type pacer struct{ percent int }

// start sets the percentage now and after each collection, until ctx ends.
func (p *pacer) start(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	if percent := percentFor(readMemory().live); percent != p.percent {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
	// The cleanup runs after the next collection, which finds this object unreachable.
	runtime.AddCleanup(&struct{ _ [64]byte }{}, func(p *pacer) { p.start(ctx) }, p)
}

// percentFor returns one of few values, so that the percentage rarely changes.
func percentFor(live uint64) int {
	for size := uint64(minHeap / 8); size <= largeHeap; size *= 2 {
		if live < size {
			return int(minHeap/size-1) * 100
		}
	}
	return largePercent
}

// memoryUse is the size of the heap and of its live part at the last collection, in bytes, and the
// number of collections.
type memoryUse struct{ heap, live, collections uint64 }

func readMemory() memoryUse {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	value := func(i int) uint64 { return samples[i].Value.Uint64() }
	return memoryUse{heap: value(0) + value(1) + value(2), live: value(3), collections: value(4)}
}
