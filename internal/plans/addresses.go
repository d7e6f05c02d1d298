package plans

import (
	"context"
	"net/netip"
	"time"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

// Addresses counts requests that come without a valid key, by address: an IPv4 address by itself, an IPv6 address
// with its /64. It guards this server and counts in its memory; refusals count too.
type Addresses struct {
	store limiter.Store
	rate  limiter.Rate
}

// NewAddresses returns empty buckets that admit so many requests per minute and address.
func NewAddresses(perMinute int64) *Addresses {
	return &Addresses{
		store: memory.NewStoreWithOptions(limiter.StoreOptions{Prefix: "address", CleanUpInterval: time.Minute}),
		rate:  limiter.Rate{Formatted: "address", Period: time.Minute, Limit: perMinute},
	}
}

// Take counts one request of the address. Reached is true when it is refused.
func (a *Addresses) Take(addr netip.Addr, now time.Time) limiter.Context {
	// The memory store does not fail.
	c, _ := a.store.Get(context.Background(), bucket(addr), a.rate)
	return c
}

func bucket(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			addr = p.Addr()
		}
	}
	return addr.String()
}
