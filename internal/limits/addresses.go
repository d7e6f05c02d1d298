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

// maxAddresses is how many addresses have a counter of their own in one minute: some 10 MB.
// Counters of up to three minutes are held.
const maxAddresses = 50_000

// others stands for the addresses that came when there were as many as that.
const others = "*"

// Addresses limits callers without a valid key by their address: an IPv4 address, or the /64
// network of an IPv6 address, which is what one subscriber has. It counts in this process, refused
// requests too.
//
// Callers from very many networks must not fill the memory: after 50,000 of them in a minute, all
// further ones share one counter until the minute ends. At worst they get 429 instead of 401, and
// so does a customer among them whose key the server does not know yet.
type Addresses struct {
	store       limiter.Store
	limit, most int64

	mu sync.Mutex
	// minute is the latest, came how many addresses it has seen.
	minute, came int64
}

// NewAddresses returns a limiter of that many requests a minute for each address. Counters of
// minutes that are over are dropped every minute, by a goroutine that ends when the Addresses is
// garbage.
func NewAddresses(perMinute int64) *Addresses {
	return &Addresses{
		store: memory.NewStoreWithOptions(limiter.StoreOptions{Prefix: "a", CleanUpInterval: time.Minute}),
		limit: perMinute, most: maxAddresses,
	}
}

// Take counts one request from that address in the clock's minute at now. Reached is true when the
// request is over the limit and to be refused. An IPv4 address in IPv6 form counts as the IPv4
// address; callers whose address is not known (the zero Addr) share one counter.
func (a *Addresses) Take(addr netip.Addr, now time.Time) limiter.Context {
	minute := floorDiv(now.Unix(), minuteSeconds)
	c := a.query(a.store.Get, a.key(addr, minute), minute)
	if isFirst := !c.Reached && c.Remaining == a.limit-1; isFirst {
		a.count(minute, 1)
	}
	return c
}

// Return undoes a Take of that time, because the request had a valid key after all.
func (a *Addresses) Return(addr netip.Addr, now time.Time) {
	minute := floorDiv(now.Unix(), minuteSeconds)
	a.query(func(ctx context.Context, key string, rate limiter.Rate) (limiter.Context, error) {
		return a.store.Increment(ctx, key, -1, rate)
	}, a.key(addr, minute), minute)
}

// Peek returns what Take would without counting: Remaining is what the next request finds.
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

// count returns how many addresses have come in the minute, after so many more.
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
	// first request and goes by its own clock, only has to outlast it.
	rate := limiter.Rate{Period: 2 * time.Minute, Limit: a.limit}
	c, err := store(context.Background(), key, rate)
	if err != nil {
		// A store in memory has no way to fail. If it ever does, a guard that guards nothing is
		// better than an outage.
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
	network, _ := addr.Prefix(bits) // It fails for a number of bits that the address has not.
	return network
}

// TenantMinute counts what counts in no window, by tenant in the clock's minute, so that it doesn't
// become a load. It is safe for concurrent use.
type TenantMinute struct {
	mu     sync.Mutex
	minute int64
	made   map[int64]int64
}

// Take counts one of the tenant's, unless it has most already: then it is over. It returns when the
// minute ends, in Unix seconds.
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

// Return undoes a Take of that time that was not over.
func (c *TenantMinute) Return(tenantID int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.minute == floorDiv(now.Unix(), minuteSeconds) {
		c.made[tenantID]--
	}
}
