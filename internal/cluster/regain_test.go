package cluster_test

import (
	"testing"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/test/assert"
)

// TestRegain: whoever registered is told after a time without a lease, and before the next one, and not when terms change.
func TestRegain(t *testing.T) {
	t.Parallel()
	f := newFixture()
	regained := 0
	f.OnRegain(func() {
		regained++
		assert.True(t, !f.Valid(first), "a term is in force before that")
	})
	renew := func(after time.Duration, want int) {
		t.Helper()
		f.now = f.now.Add(after)
		f.renewTwice(t)
		if _, ok := f.Term(); !ok || regained != want {
			t.Errorf("after %v: in force %v, told %d times, want %d", after, ok, regained, want)
		}
	}
	renew(0, 0)
	renew(cluster.Lease-1, 0)
	renew(cluster.Lease, 1)
	renew(time.Millisecond, 1)
	f.SetRedis("r")
	renew(time.Millisecond, 1)
	renew(time.Hour, 2)
}
