package plans

import "testing"

// TestJoin: equal asks are one, and those of a tenant know that they come after another, also beside tenants of the same bucket.
func TestJoin(t *testing.T) {
	t.Parallel()
	own := func(tenantID int64) Claim {
		return Claim{TenantID: tenantID, KeyID: "key_1", Quota: open, KeyPerMinute: 5}
	}
	f := hangar.New().(*flight)
	for i, tt := range []struct {
		claim      Claim
		minute     int64
		at         int32
		position   int64
		again, new bool
	}{
		{claim: claim(1, open), at: 0, new: true},
		{claim: claim(1+buckets, open), at: 1, new: true},
		{claim: claim(-63, open), at: 2, new: true},
		{claim: claim(1, open), at: 0, position: 1},
		{claim: claim(1, open), minute: 1, at: 3, again: true, new: true},
		{claim: own(1), at: 4, again: true, new: true},
		{claim: own(1 + buckets), at: 5, again: true, new: true},
		{claim: own(1), at: 4, position: 1, again: true},
		{claim: claim(1, open), at: 0, position: 2},
		{claim: claim(2, open), at: 6, new: true},
	} {
		k := ask{claim: tt.claim, minute: tt.minute, count: 1}
		before := len(f.asks)
		at, position := f.join(&k)
		if at != tt.at || position != tt.position || len(f.asks) > before != tt.new || f.asks[at].again != tt.again {
			t.Errorf("%d: ask %d, position %d, again %v; want %+v", i, at, position, f.asks[at].again, tt)
		}
	}
	for range 9 {
		f.leave()
	}
	if len(f.asks) != 7 {
		t.Error("the flight is another's while somebody is aboard")
	}
	f.leave()
	if len(f.asks) != 0 || f.last != [buckets]int32{} {
		t.Error("a flight begins with the asks of another")
	}
}
