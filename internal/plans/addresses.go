package plans

import (
	"context"
	"net/netip"
	"strconv"
	"time"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

// Addresses limits callers without a valid key by where they come from: an IPv4 address, or the /64 network of an IPv6
// one, since that is what one subscriber has. It counts in this process. It counts what it refuses too, which costs the
// caller nothing: the minute ends when it ends.
type Addresses struct {
	store limiter.Store
	limit int64
}

// NewAddresses returns a limiter of that many requests a minute for each address. Counters of minutes that are over
// are dropped every minute, by a goroutine that ends when the Addresses is garbage.
func NewAddresses(perMinute int64) *Addresses {
	return &Addresses{
		store: memory.NewStoreWithOptions(limiter.StoreOptions{Prefix: "a", CleanUpInterval: time.Minute}),
		limit: perMinute,
	}
}

// Take counts one request from that address in the clock's minute at now. Reached is true when the request is over the
// limit and to be refused. An IPv4 address in IPv6 form counts as the IPv4 address; callers whose address is not known
// (the zero Addr) share one counter.
func (a *Addresses) Take(addr netip.Addr, now time.Time) limiter.Context {
	return a.ask(a.store.Get, addr, now)
}

// Peek returns what Take would without counting: Remaining is what the next request finds.
func (a *Addresses) Peek(addr netip.Addr, now time.Time) limiter.Context {
	return a.ask(a.store.Peek, addr, now)
}

func (a *Addresses) ask(
	store func(context.Context, string, limiter.Rate) (limiter.Context, error), addr netip.Addr, now time.Time,
) limiter.Context {
	minute := floorDiv(now.Unix(), minuteSeconds)
	// The minute's number in the key ends the window. The store's own period, which begins with the first request and
	// goes by its own clock, only has to outlast it.
	rate := limiter.Rate{Period: 2 * time.Minute, Limit: a.limit}
	c, err := store(context.Background(), addressKey(addr, minute), rate)
	if err != nil {
		// A store in memory has no way to fail. If it ever does, a guard that guards nothing is better than an outage.
		c = limiter.Context{Limit: a.limit, Remaining: a.limit}
	}
	c.Reset = (minute + 1) * minuteSeconds
	return c
}

func addressKey(addr netip.Addr, minute int64) string {
	addr = addr.Unmap()
	b := make([]byte, 0, 64)
	if bits := 64; addr.IsValid() {
		if addr.Is4() {
			bits = 32
		}
		network, _ := addr.Prefix(bits) // It fails for a number of bits that the address has not.
		b = network.AppendTo(b)
	}
	b = append(b, '@')
	return string(strconv.AppendInt(b, minute, 10))
}
