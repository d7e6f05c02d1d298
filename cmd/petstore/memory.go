package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// smallMemory is how much the process may have before garbage is collected more often than the runtime would.
	smallMemory = 44 << 20
	boundEvery  = time.Second
	liveHeap    = "/gc/heap/live:bytes"
)

// boundMemory keeps the process's memory near what it holds, until ctx ends. By the runtime's own rule garbage takes as
// much again as what is held: with 100,000 callers in the directory that is 90 MB instead of 55. What is held may grow to
// any size: the bound follows. It does nothing where the operator has set GOGC or GOMEMLIMIT.
func boundMemory(ctx context.Context) error {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(smallMemory))
	tick := time.NewTicker(boundEvery)
	defer tick.Stop()
	live := []metrics.Sample{{Name: liveHeap}}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			metrics.Read(live)
			debug.SetMemoryLimit(memoryBound(live[0].Value.Uint64()))
		}
	}
}

// memoryBound leaves half of what is held for garbage and the runtime.
func memoryBound(held uint64) int64 { return max(smallMemory, int64(held+held/2)) }
