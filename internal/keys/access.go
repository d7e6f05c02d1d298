package keys

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Scope says what a key may do.
type Scope string

// The scopes. Each includes those before it.
const (
	// ScopeRead allows GET and HEAD.
	ScopeRead Scope = "read"
	// ScopeWrite is the scope of a key that was issued without one.
	ScopeWrite Scope = "write"
	// ScopeManage also allows managing the tenant's keys.
	ScopeManage Scope = "manage"
)

// Scopes are all scopes.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopeManage}

// Errors of scopes and ranges.
var (
	// ErrScope: there is no such scope.
	ErrScope = errors.New("the scope of a key must be read, write or manage")
	// ErrRange: the text is not a range of addresses. The error suggests the right range if it can
	// be guessed.
	ErrRange = errors.New("not a range of addresses")
	// ErrTooManyRanges: a key may have MaxRanges.
	ErrTooManyRanges = fmt.Errorf("a key may have %d ranges of addresses", MaxRanges)
)

// MaxRanges is the maximum number of a key's ranges of addresses.
const MaxRanges = 20

// Ranges are the addresses from which a key may be used: CIDR blocks in order, separated by commas;
// a single address has no length. "" stands for any address. Ranges are comparable, so that Keys
// are too.
type Ranges string

// ParseRanges reads CIDR blocks and single addresses: 203.0.113.0/24, 2001:db8::/32, 203.0.113.7.
// It returns ErrRange or ErrTooManyRanges.
func ParseRanges(texts []string) (Ranges, error) {
	var all []netip.Prefix
	for _, text := range texts {
		p, err := parseRange(strings.TrimSpace(text))
		if err != nil {
			return "", err
		}
		all = append(all, p)
	}
	slices.SortFunc(all, netip.Prefix.Compare)
	all = slices.Compact(all)
	if len(all) > MaxRanges {
		return "", ErrTooManyRanges
	}
	list := make([]string, len(all))
	for i, p := range all {
		list[i] = rangeText(p)
	}
	return Ranges(strings.Join(list, ",")), nil
}

// List returns the ranges one by one, nil for any address.
func (r Ranges) List() []string {
	if r == "" {
		return nil
	}
	return strings.Split(string(r), ",")
}

func rangeText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

var (
	zone = regexp.MustCompile(`%[^/]*`)
	// leadingZeros matches leading zeros of an IPv4 address or a length. netip refuses them,
	// because elsewhere they mean octal numbers.
	leadingZeros = regexp.MustCompile(`(^|[./])0+([0-9])`)
)

// parseRange reads one range. It refuses all addresses, and a block that is not written in its
// usual form; the error then suggests that form.
func parseRange(text string) (netip.Prefix, error) {
	p, err := parsePrefix(text)
	right := p
	if err != nil {
		p = netip.Prefix{}
		if right, err = parsePrefix(
			leadingZeros.ReplaceAllString(zone.ReplaceAllString(text, ""), "$1$2"),
		); err != nil {
			return p, fmt.Errorf(
				"%w: %q: want an address or a block, such as 203.0.113.7 or 2001:db8::/32",
				ErrRange,
				text,
			)
		}
	}
	if mapped := right.Addr(); mapped.Is4In6() && right.Bits() >= 96 {
		right = netip.PrefixFrom(mapped.Unmap(), right.Bits()-96)
	}
	right = right.Masked()
	switch {
	case right.Bits() == 0:
		return p, fmt.Errorf("%w: %q has all addresses: without ranges a key may be used from anywhere", ErrRange, text)
	case right != p:
		return p, fmt.Errorf("%w: %q: did you mean %s?", ErrRange, text, rangeText(right))
	}
	return p, nil
}

// parsePrefix reads a block, or a single address.
func parsePrefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	a, err := netip.ParseAddr(text)
	if err == nil && a.Zone() != "" {
		err = ErrRange // PrefixFrom would drop the zone.
	}
	return netip.PrefixFrom(a, a.BitLen()), err
}

// Access is the scope and the ranges of a key, in the form that servers keep in memory. nil stands
// for ScopeWrite from anywhere.
type Access struct {
	scope Scope
	// from is sorted and has no overlaps. nil stands for anywhere.
	from []netip.Prefix
}

// NewAccess returns the access of a key, nil for ScopeWrite from anywhere.
func NewAccess(scope Scope, ranges Ranges) (*Access, error) {
	if scope == ScopeWrite && ranges == "" {
		return nil, nil
	}
	a := &Access{scope: scope}
	var all []netip.Prefix
	for _, text := range ranges.List() {
		p, err := parsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %q", ErrRange, text)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, netip.Prefix.Compare)
	for _, p := range all {
		// Of two blocks, one contains the other, or they have no address in common.
		if n := len(a.from); n == 0 || !a.from[n-1].Contains(p.Addr()) {
			a.from = append(a.from, p)
		}
	}
	return a, nil
}

// From reports whether the key may be used from addr, which must be unmapped and have no zone.
func (a *Access) From(addr netip.Addr) bool {
	if a == nil || a.from == nil {
		return true
	}
	after, _ := slices.BinarySearchFunc(a.from, addr, func(p netip.Prefix, addr netip.Addr) int {
		if p.Addr().Compare(addr) <= 0 {
			return -1
		}
		return 1
	})
	return after > 0 && a.from[after-1].Contains(addr)
}

// May reports whether the key's scope includes need; "" stands for no scope.
func (a *Access) May(need Scope) bool {
	return a == nil && need != ScopeManage || slices.Index(Scopes, need) <= slices.Index(Scopes, a.Scope())
}

// Scope returns the scope of the key.
func (a *Access) Scope() Scope {
	if a == nil {
		return ScopeWrite
	}
	return a.scope
}
