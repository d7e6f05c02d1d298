package limits

import (
	"context"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

// maxAddresses is the number of addresses that get their own counter in a minute: some 10 MB. The
// counters of up to three minutes are kept.
const maxAddresses = 50_000

// others is the counter that all addresses beyond maxAddresses share.
const others = "*"

// Addresses limits callers without a valid key by address: an IPv4 address, or an IPv6 /64 network,
// which is what one subscriber has. It counts in this process and includes refused requests.
//
// To bound memory, addresses beyond the first 50,000 in a minute share one counter until the minute
// ends. At worst they get 429 instead of 401. So may a customer among them whose key the server
// does not know yet.
type Addresses struct {
	store       limiter.Store
	limit, most int64

	mu sync.Mutex
	// minute is the latest minute, came the number of addresses seen in it.
	minute, came int64
}

// NewAddresses returns a limiter of perMinute requests a minute for each address. A goroutine drops
// the counters of past minutes; it ends when the Addresses is garbage collected.
func NewAddresses(perMinute int64) *Addresses {
	return &Addresses{
		store: memory.NewStoreWithOptions(limiter.StoreOptions{Prefix: "a", CleanUpInterval: time.Minute}),
		limit: perMinute, most: maxAddresses,
	}
}

// Take counts one request from the address in the clock's minute at now. Reached is true if the
// request is over the limit and must be refused. An IPv4 address in IPv6 form counts as the IPv4
// address. Callers of unknown address (the zero Addr) share one counter.
func (a *Addresses) Take(addr netip.Addr, now time.Time) limiter.Context {
	minute := floorDiv(now.Unix(), minuteSeconds)
	c := a.query(a.store.Get, a.key(addr, minute), minute)
	if isFirst := !c.Reached && c.Remaining == a.limit-1; isFirst {
		a.count(minute, 1)
	}
	return c
}

// Return undoes a Take made at now, because the request had a valid key after all.
func (a *Addresses) Return(addr netip.Addr, now time.Time) {
	minute := floorDiv(now.Unix(), minuteSeconds)
	a.query(func(ctx context.Context, key string, rate limiter.Rate) (limiter.Context, error) {
		return a.store.Increment(ctx, key, -1, rate)
	}, a.key(addr, minute), minute)
}

// Peek returns what Take would return, but does not count. Remaining is what the next request
// finds.
func (a *Addresses) Peek(addr netip.Addr, now time.Time) limiter.Context {
	minute := floorDiv(now.Unix(), minuteSeconds)
	return a.query(a.store.Peek, a.key(addr, minute), minute)
}

// key names the address's counter.
func (a *Addresses) key(addr netip.Addr, minute int64) string {
	own := addressKey(addr, minute)
	if a.count(minute, 0) < a.most || a.query(a.store.Peek, own, minute).Remaining < a.limit {
		return own
	}
	return others + "@" + strconv.FormatInt(minute, 10)
}

// count adds more to the addresses seen in the minute, and returns their number.
func (a *Addresses) count(minute, more int64) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if minute > a.minute {
		a.minute, a.came = minute, 0
	}
	a.came += more
	return a.came
}

func (a *Addresses) query(
	store func(context.Context, string, limiter.Rate) (limiter.Context, error), key string, minute int64,
) limiter.Context {
	// The minute's number in the key ends the window. The store's own period, which begins with the
	// first request and goes by the store's clock, only has to be longer than the window.
	rate := limiter.Rate{Period: 2 * time.Minute, Limit: a.limit}
	c, err := store(context.Background(), key, rate)
	if err != nil {
		// A store in memory cannot fail. If it ever does, admitting everything is better than an
		// outage.
		c = limiter.Context{Limit: a.limit, Remaining: a.limit}
	}
	c.Reset = (minute + 1) * minuteSeconds
	return c
}

func addressKey(addr netip.Addr, minute int64) string {
	b := make([]byte, 0, 64)
	if addr.IsValid() {
		b = NetworkOf(addr).AppendTo(b)
	}
	b = append(b, '@')
	return string(strconv.AppendInt(b, minute, 10))
}

// NetworkOf returns what counts as one address: an IPv4 address, or the /64 network of an IPv6
// address. It is the zero Prefix for the zero Addr.
func NetworkOf(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap()
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	network, _ := addr.Prefix(bits) // Prefix fails only for too many bits.
	return network
}

// TenantMinute limits a tenant's requests that count in no window, for each minute of the clock, so
// that they can't overload the server. It is safe for concurrent use.
type TenantMinute struct {
	mu     sync.Mutex
	minute int64
	made   map[int64]int64
}

// Take counts one request of the tenant, unless most are counted already: then over is true. reset
// is the end of the minute in Unix seconds.
func (c *TenantMinute) Take(tenantID, most int64, now time.Time) (reset int64, over bool) {
	minute := floorDiv(now.Unix(), minuteSeconds)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.minute != minute || c.made == nil {
		c.minute, c.made = minute, map[int64]int64{}
	}
	if over = c.made[tenantID] >= most; !over {
		c.made[tenantID]++
	}
	return (minute + 1) * minuteSeconds, over
}

// Return undoes a Take made at now that was not over.
func (c *TenantMinute) Return(tenantID int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.minute == floorDiv(now.Unix(), minuteSeconds) {
		c.made[tenantID]--
	}
}
