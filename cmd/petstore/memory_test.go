package main

import "testing"

func TestMemoryBound(t *testing.T) {
	t.Parallel()
	const megabyte = 1 << 20
	for held, want := range map[uint64]int64{
		0:              44 * megabyte,
		20 * megabyte:  44 * megabyte,
		40 * megabyte:  60 * megabyte,
		400 * megabyte: 600 * megabyte,
	} {
		if got := memoryBound(held); got != want {
			t.Errorf("memoryBound(%d MB) = %d MB, want %d", held/megabyte, got/megabyte, want/megabyte)
		}
	}
}
