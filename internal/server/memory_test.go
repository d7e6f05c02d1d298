package server

import (
	"context"
	"runtime"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// After a burst the memory that it took goes back to the system without anybody asking.
func TestTrimMemory(t *testing.T) {
	burst := make([][]byte, 64)
	for i := range burst {
		burst[i] = make([]byte, 1<<20)
	}
	runtime.KeepAlive(burst)
	runtime.GC() // One that ran during the burst has counted it as live, until the next one.
	before := readMemory()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- trimMemory(ctx) }()
	wait.Until(t, "half of the memory back", func() bool { return readMemory().heap <= before.heap/2 }, readMemory)
	stop()
	assert.Equal(t, <-done, nil)
}

// A small heap may grow to 32 MB before it is collected, a large one by a third.
func TestPercentFor(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{
		0: 700, 3 << 20: 700, 4 << 20: 300, 7 << 20: 300, 8 << 20: 100, 15 << 20: 100, 16 << 20: 35, 1 << 30: 35,
	} {
		if got := percentFor(live); got != want {
			t.Errorf("%d MB held: %d %%, want %d", live>>20, got, want)
		}
	}
}
