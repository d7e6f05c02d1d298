package limits_test

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ulule/limiter/v3"

	"petstore.example/internal/limits"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	a := limits.NewAddresses(2)
	addr := netip.MustParseAddr("192.0.2.1")
	reset := limitstest.Noon.Unix() + 60
	for i, want := range []limiter.Context{
		{Limit: 2, Remaining: 1, Reset: reset},
		{Limit: 2, Remaining: 0, Reset: reset},
		{Limit: 2, Remaining: 0, Reset: reset, Reached: true},
		{Limit: 2, Remaining: 0, Reset: reset, Reached: true},
	} {
		now := limitstest.Noon.Add(time.Duration(i) * 19 * time.Second)
		assert.DeepEqual(t, a.Take(addr, now), want, "request", i)
	}
	last := limitstest.Noon.Add(time.Minute - 1)
	assert.True(t, a.Take(addr, last).Reached, "not refused one tick before the reset")
	want := limiter.Context{Limit: 2, Remaining: 1, Reset: reset + 60}
	assert.DeepEqual(t, a.Take(addr, limitstest.Noon.Add(time.Minute)), want, "at the reset")
}

func TestAddressesTellWhoIsWho(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true},
		{"2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
		{"::", "0.0.0.0", false},
		{"", "", true},
		{"", "::", false},
	} {
		a := limits.NewAddresses(1)
		first, second := mustAddr(t, c.a), mustAddr(t, c.b)
		a.Take(first, limitstest.Noon)
		assert.Equal(t, a.Take(second, limitstest.Noon).Reached, c.same, c.a, "and", c.b, "count as one")
	}
}

func mustAddr(t *testing.T, s string) netip.Addr {
	t.Helper()
	if s == "" {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(s)
	assert.NoError(t, err)
	return addr
}

func TestAddressesExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	const limit = 6000
	a := limits.NewAddresses(limit)
	addr := netip.MustParseAddr("2001:db8::1")
	var passed atomic.Int64
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			for range 200 {
				if !a.Take(addr, limitstest.Noon).Reached {
					passed.Add(1)
				}
			}
		})
	}
	callers.Wait()
	assert.Equal(t, passed.Load(), limit, "passed")
}

func TestPeekCountsNothing(t *testing.T) {
	t.Parallel()
	a := limits.NewAddresses(2)
	addr := netip.MustParseAddr("192.0.2.1")
	now := time.Date(2026, 11, 20, 12, 0, 30, 0, time.UTC)
	for taken, remaining := range []int64{2, 1, 0, 0} {
		for range 2 {
			if c := a.Peek(addr, now); c.Limit != 2 || c.Remaining != remaining || c.Reset != now.Unix()+30 {
				t.Errorf("after %d requests: %+v, want %d to remain", taken, c, remaining)
			}
		}
		a.Take(addr, now)
	}
}

func TestReturnUndoesATake(t *testing.T) {
	t.Parallel()
	a := limits.NewAddresses(2)
	addr := netip.MustParseAddr("192.0.2.1")
	for range 100 {
		assert.Equal(t, a.Take(addr, limitstest.Noon).Remaining, 1, "remain")
		a.Return(addr, limitstest.Noon)
	}
	c := a.Peek(addr, limitstest.Noon)
	assert.Equal(t, c.Remaining, 2, c)
}

// TestAddressesAreBounded: beyond a number of addresses in a minute, new ones share a counter and
// known ones keep theirs.
func TestAddressesAreBounded(t *testing.T) {
	t.Parallel()
	const most = 500
	a := limits.NewAddresses(2)
	a.SetMost(most)
	network := func(n uint32) netip.Addr {
		b := [16]byte{0x20, 0x01}
		binary.BigEndian.PutUint32(b[4:], n)
		return netip.AddrFrom16(b)
	}
	for n := range uint32(most) {
		if c := a.Take(network(n), limitstest.Noon); c.Remaining != 1 {
			t.Fatalf("address %d shares a counter: %+v", n, c)
		}
	}
	for i, want := range []limiter.Context{{Remaining: 1}, {}, {Reached: true}} {
		want.Limit, want.Reset = 2, limitstest.Noon.Unix()+60
		if diff := cmp.Diff(want, a.Take(network(most+uint32(i)), limitstest.Noon)); diff != "" {
			t.Errorf("address %d beyond (-want +got):\n%s", i, diff)
		}
	}
	c := a.Peek(network(most+9), limitstest.Noon)
	assert.Equal(t, c.Remaining, 0, "another address beyond", c)
	if c := a.Take(network(7), limitstest.Noon); c.Remaining != 0 || c.Reached {
		t.Errorf("an address from before: %+v, want its own second request", c)
	}
	if c := a.Take(network(most), limitstest.Noon.Add(time.Minute)); c.Remaining != 1 {
		t.Errorf("in the next minute: %+v, want a counter of its own", c)
	}
}
