package keys_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

func TestParseRanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want, wrong string }{
		{given: "203.0.113.7", want: "203.0.113.7"},
		{given: "203.0.113.7/32", want: "203.0.113.7"},
		{given: "2001:db8::/32 203.0.113.0/24 203.0.113.0/24", want: "203.0.113.0/24,2001:db8::/32"},
		{given: "2001:0DB8:0::1", want: "2001:db8::1"},
		{given: "10.0.0.1/8", wrong: "did you mean 10.0.0.0/8?"},
		{given: "2001:db8::1/32", wrong: "did you mean 2001:db8::/32?"},
		{given: "::ffff:10.0.0.1", wrong: "did you mean 10.0.0.1?"},
		{given: "::ffff:10.0.0.0/104", wrong: "did you mean 10.0.0.0/8?"},
		{given: "fe80::1%eth0", wrong: "did you mean fe80::1?"},
		{given: "fe80::%eth0/64", wrong: "did you mean fe80::/64?"},
		{given: "010.001.0.0/16", wrong: "did you mean 10.1.0.0/16?"},
		{given: "10.0.0.0/08", wrong: "did you mean 10.0.0.0/8?"},
		{given: "0.0.0.0/0", wrong: "all addresses"},
		{given: "::/0", wrong: "all addresses"},
		{given: "::ffff:0.0.0.0/96", wrong: "all addresses"},
		{given: "10.0.0.0/33", wrong: "want an address or a block"},
		{given: "example.org", wrong: "want an address or a block"},
		{given: "203.0.113.7:443", wrong: "want an address or a block"},
	} {
		got, err := keys.ParseRanges(strings.Fields(c.given))
		if c.wrong == "" {
			assert.Result(t, got, err, keys.Ranges(c.want), c.given)
		} else if !errors.Is(err, keys.ErrRange) || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %s", c.given, err, c.wrong)
		}
	}
	var many []string
	for i := range keys.MaxRanges + 1 {
		many = append(many, fmt.Sprintf("10.%d.0.0/16", i))
	}
	_, err := keys.ParseRanges(many)
	assert.ErrorIs(t, err, keys.ErrTooManyRanges)
	ranges, err := keys.ParseRanges(many[1:])
	assert.NoError(t, err)
	assert.Equal(t, len(ranges.List()), keys.MaxRanges, "ranges")
}

// TestAccessFrom compares the search with a look at each range.
func TestAccessFrom(t *testing.T) {
	t.Parallel()
	given := strings.Fields(
		"10.0.0.0/8 10.1.0.0/16 10.1.2.3 10.2.0.0/16 127.0.0.0/8 192.0.2.128/25 203.0.113.7 ::1 2001:db8::/32 " +
			"2001:db8:1::/48 fe80::/10",
	)
	ranges, err := keys.ParseRanges(given)
	assert.NoError(t, err)
	access, err := keys.NewAccess(keys.ScopeWrite, ranges)
	assert.NoError(t, err)
	inside := 0
	for _, text := range given {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a := netip.MustParseAddr(text)
			p = netip.PrefixFrom(a, a.BitLen())
		}
		last := p.Addr().As16()
		for bit := p.Bits() + 128 - p.Addr().BitLen(); bit < 128; bit++ {
			last[bit/8] |= 1 << (7 - bit%8)
		}
		end := netip.AddrFrom16(last)
		if p.Addr().Is4() {
			end = end.Unmap()
		}
		for _, addr := range []netip.Addr{p.Addr().Prev(), p.Addr(), p.Addr().Next(), end.Prev(), end, end.Next(), {}} {
			want := false
			for _, r := range given {
				if q, err := netip.ParsePrefix(r); err == nil && q.Contains(addr) || r == addr.String() {
					want = true
				}
			}
			assert.Equal(t, access.From(addr), want, addr.String())
			if want {
				inside++
			}
		}
	}
	assert.True(t, inside > 20, "only", inside, "addresses are in a range")
}

func TestAccess(t *testing.T) {
	t.Parallel()
	here, elsewhere := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("::1")
	for _, c := range []struct {
		scope  keys.Scope
		ranges keys.Ranges
		from   bool
		may    []keys.Scope
		stored bool
	}{
		{keys.ScopeWrite, "", true, keys.Scopes[:2], false},
		{keys.ScopeRead, "", true, keys.Scopes[:1], true},
		{keys.ScopeManage, "", true, keys.Scopes, true},
		{keys.ScopeWrite, "192.0.2.1", false, keys.Scopes[:2], true},
		{keys.ScopeRead, "192.0.2.0/24", false, keys.Scopes[:1], true},
		{"unknown", "", true, nil, true},
	} {
		a, err := keys.NewAccess(c.scope, c.ranges)
		assert.NoError(t, err)
		assert.True(t, a.From(here) && a.From(elsewhere) == c.from, c, "addresses")
		for _, need := range keys.Scopes {
			assert.Equal(t, a.May(need), slices.Contains(c.may, need), c, need)
		}
		assert.True(t, a.May("") && a.Scope() == c.scope, c, "scope")
		assert.Equal(t, a != nil, c.stored, "is not nil")
	}
	_, err := keys.NewAccess(keys.ScopeWrite, "nonsense")
	assert.ErrorIs(t, err, keys.ErrRange)
}
