package distributed

import (
	"testing"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
)

// TestJoin: equal claims are one Request, and those of a tenant know that they come after another,
// also beside tenants of the same bucket.
func TestJoin(t *testing.T) {
	t.Parallel()
	unlimited := plans.Quota{PerMinute: 1 << 40, PerDay: 1 << 41}
	own := func(tenantID int64) limits.Claim {
		return limits.Claim{TenantID: tenantID, KeyID: "key_1", Quota: unlimited, KeyPerMinute: 5}
	}
	b := batchPool.New().(*batch)
	for i, tt := range []struct {
		claim      limits.Claim
		minute     int64
		at         int32
		position   int64
		again, new bool
	}{
		{claim: limitstest.Claim(1, unlimited), at: 0, new: true},
		{claim: limitstest.Claim(1+buckets, unlimited), at: 1, new: true},
		{claim: limitstest.Claim(-63, unlimited), at: 2, new: true},
		{claim: limitstest.Claim(1, unlimited), at: 0, position: 1},
		{claim: limitstest.Claim(1, unlimited), minute: 1, at: 3, again: true, new: true},
		{claim: own(1), at: 4, again: true, new: true},
		{claim: own(1 + buckets), at: 5, again: true, new: true},
		{claim: own(1), at: 4, position: 1, again: true},
		{claim: limitstest.Claim(1, unlimited), at: 0, position: 2},
		{claim: limitstest.Claim(2, unlimited), at: 6, new: true},
	} {
		k := Request{Claim: tt.claim, Minute: tt.minute, Count: 1}
		before := len(b.requests)
		at, position := b.join(&k)
		if at != tt.at || position != tt.position || len(b.requests) > before != tt.new ||
			b.requests[at].SameTenant != tt.again {
			t.Errorf("%d: request %d, position %d, again %v; want %+v", i, at, position, b.requests[at].SameTenant, tt)
		}
	}
	for range 9 {
		b.release()
	}
	assert.Equal(t, len(b.requests), 7, "the batch is reused before everybody has read a reply")
	b.empty() // as the last release does, which hands it to other tests
	assert.True(t, len(b.requests) == 0 && b.last == [buckets]int32{}, "a batch begins with the requests of another")
}
