package main

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// After a burst the memory that it took goes back to the system without anybody asking.
func TestTrimMemory(t *testing.T) {
	burst := make([][]byte, 64)
	for i := range burst {
		burst[i] = make([]byte, 1<<20)
	}
	runtime.KeepAlive(burst)
	before := readMemory()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- trimMemory(ctx) }()
	for deadline := time.Now().Add(6 * trimEvery); readMemory().kept > before.kept/2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("of %d MB, %d MB are still kept", before.kept>>20, readMemory().kept>>20)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
