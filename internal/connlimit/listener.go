package connlimit

import (
	"cmp"
	"context"
	"maps"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Limits are the bounds of a listener's connections.
type Limits struct {
	// Total is the maximum number of open connections.
	Total int
	// PerAddress is how many of them one address may have (an IPv4 address, or the /64 network of
	// an IPv6 address); 0 for no bound.
	PerAddress int
	// Trusted are the networks of proxies. Their addresses have no bound of their own. Their
	// connections carry the requests of customers, so they are authenticated from the start.
	Trusted []netip.Prefix
	// IdleTimeout is how long an unauthenticated connection may be idle, or take to read 32 KiB of
	// a response; 0 for no bound.
	IdleTimeout time.Duration
	// Unsent is how many bytes of responses unauthenticated clients may leave unread; one address
	// may leave a quarter of it. 0 means no bound.
	Unsent int64
}

const (
	// minIdle is how long an authenticated connection must have been idle before it may be closed
	// in favour of another.
	minIdle = 10 * time.Second
	// tick is the interval of the search for idle connections, and the precision of the time of a
	// connection's last use.
	tick = time.Second
	// tenantShares is the number of shares that all connections are divided into. The keys of one
	// tenant may authenticate one share.
	tenantShares = 4
	// unsentShares is the number of shares that Unsent is divided into. The connections of one
	// address may hold one share.
	unsentShares = 4
)

// Reason is why a connection was refused or closed.
type Reason string

// The reasons.
const (
	TotalReached   Reason = "total"
	AddressReached Reason = "address"
	Idle           Reason = "idle"
	Unsent         Reason = "unsent"
)

// Stats has the open connections, and those that were refused or closed since the start.
type Stats struct {
	Authenticated, Unauthenticated int64
	// Refused has the reasons TotalReached and AddressReached. Closed has all.
	Refused, Closed map[Reason]int64
}

// Listener accepts connections within its limits.
type Listener struct {
	net.Listener

	limits Limits
	start  time.Time
	// clock is the time since start at the last tick.
	clock atomic.Int64

	mu        sync.Mutex
	all       queue
	addresses map[netip.Prefix]*queue
	// tenants is the number of connections that each tenant's share has in use.
	tenants map[int64]int
	refused map[Reason]int64
	closed  map[Reason]int64

	// stop ends run.
	stop context.CancelFunc
}

// Wrap returns a listener that bounds the connections of another. It must be closed.
func Wrap(l net.Listener, limits Limits) *Listener {
	running, stop := context.WithCancel(context.Background())
	w := &Listener{
		Listener: l, limits: limits, start: time.Now(), stop: stop,
		all: queue{by: byTotal}, addresses: map[netip.Prefix]*queue{}, tenants: map[int64]int{},
		refused: map[Reason]int64{TotalReached: 0, AddressReached: 0},
		closed:  map[Reason]int64{TotalReached: 0, AddressReached: 0, Idle: 0, Unsent: 0},
	}
	go w.run(running)
	return w
}

// run looks for idle connections until the listener is closed.
func (l *Listener) run(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			l.clock.Store(int64(time.Since(l.start)))
			l.closeIdle()
		}
	}
}

// Close implements net.Listener. Connections stay open.
func (l *Listener) Close() error {
	l.stop()
	return l.Listener.Close()
}

// Most returns the maximum number of open connections.
func (l *Listener) Most() int { return l.limits.Total }

// Accept implements net.Listener. It returns connections of type *Conn.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address, trusted := l.addressOf(accepted)
		c := &Conn{Conn: accepted, listener: l, address: address}
		c.authenticated.Store(trusted)
		c.used.Store(int64(time.Since(l.start)))
		evicted, ok := l.admit(c)
		if !ok {
			c.reset()
			continue
		}
		if evicted != nil {
			evicted.drop()
			// A descriptor is released once nobody reads from it any more. Let its reader notice
			// before more connections are accepted.
			runtime.Gosched()
		}
		return c, nil
	}
}

// admit adds a connection. At a bound it removes another one and returns it, or returns false.
func (l *Listener) admit(c *Conn) (evicted *Conn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own, reached := l.addresses[c.address], Reason("")
	switch {
	case own != nil && len(own.conns) >= l.limits.PerAddress:
		evicted, reached = own.idleLongest(), AddressReached
	case len(l.all.conns) >= l.limits.Total:
		evicted, reached = l.all.idleLongest(), TotalReached
	}
	if evicted != nil {
		if evicted.authenticated.Load() && c.used.Load()-evicted.used.Load() < int64(minIdle) {
			l.refused[reached]++
			return nil, false
		}
		l.remove(evicted)
		l.closed[reached]++
	}
	l.add(c)
	return evicted, true
}

// closeIdle closes the unauthenticated connections that have been idle for too long.
func (l *Listener) closeIdle() {
	if l.limits.IdleTimeout == 0 {
		return
	}
	latest := l.clock.Load() - int64(l.limits.IdleTimeout)
	for c := l.removeIdle(latest); c != nil; c = l.removeIdle(latest) {
		c.drop()
	}
}

// removeIdle removes and returns an unauthenticated connection that was not used after latest; nil
// if there is none.
func (l *Listener) removeIdle(latest int64) *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all.conns) == 0 {
		return nil
	}
	c := l.all.idleLongest()
	if c.authenticated.Load() || c.used.Load() > latest {
		return nil
	}
	l.remove(c)
	l.closed[Idle]++
	return c
}

// reserve counts n bytes that are about to be written on an unauthenticated connection. At a bound
// it resets the connections whose clients leave the most unread.
func (l *Listener) reserve(c *Conn, n int64) {
	if l.limits.Unsent == 0 {
		return
	}
	if c.own != nil && c.own.unsent.Add(n) > l.limits.Unsent/unsentShares {
		l.resetUnsent(c.own, l.limits.Unsent/unsentShares)
	}
	if l.all.unsent.Add(n) > l.limits.Unsent {
		l.resetUnsent(&l.all, l.limits.Unsent)
	}
}

// resetUnsent recounts the unread bytes of a queue's clients, and resets the worst. It leaves at
// most three quarters of the bound, so that it is not called for every response.
func (l *Listener) resetUnsent(q *queue, bound int64) {
	type holder struct {
		*Conn
		bytes int64
	}
	var holders []holder
	var sum int64
	l.mu.Lock()
	defer l.mu.Unlock()
	if q.unsent.Load() <= bound {
		return // Another call has closed enough connections.
	}
	for _, c := range q.conns {
		if n := c.unsent(); n > 0 && !c.authenticated.Load() {
			holders, sum = append(holders, holder{c, n}), sum+n
		}
	}
	slices.SortFunc(holders, func(a, b holder) int { return cmp.Compare(b.bytes, a.bytes) })
	for i := 0; sum > bound*3/4; i++ {
		l.remove(holders[i].Conn)
		l.closed[Unsent]++
		holders[i].reset()
		sum -= holders[i].bytes
	}
	q.unsent.Store(sum)
}

// Stats returns the present counts.
func (l *Listener) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Stats{Refused: maps.Clone(l.refused), Closed: maps.Clone(l.closed)}
	for _, c := range l.all.conns {
		if c.authenticated.Load() {
			s.Authenticated++
		}
	}
	s.Unauthenticated = int64(len(l.all.conns)) - s.Authenticated
	return s
}

// authenticate marks the connection as authenticated by the tenant, if the tenant's share has room.
func (l *Listener) authenticate(c *Conn, tenantID int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.open || c.authenticated.Load() || l.tenants[tenantID] >= max(1, l.limits.Total/tenantShares) {
		return
	}
	c.tenant = tenantID
	l.tenants[tenantID]++
	c.authenticated.Store(true)
}

// add adds the connection. It is called with the lock held.
func (l *Listener) add(c *Conn) {
	c.open = true
	l.all.push(c)
	if c.address.IsValid() {
		own := l.addresses[c.address]
		if own == nil {
			own = &queue{by: byAddress}
			l.addresses[c.address] = own
		}
		c.own = own
		own.push(c)
	}
}

// remove removes the connection. It is called with the lock held, and may be called again.
func (l *Listener) remove(c *Conn) {
	if !c.open {
		return
	}
	c.open = false
	if c.tenant != 0 {
		if l.tenants[c.tenant]--; l.tenants[c.tenant] == 0 {
			delete(l.tenants, c.tenant)
		}
	}
	l.all.remove(c)
	if own := l.addresses[c.address]; own != nil {
		if own.remove(c); len(own.conns) == 0 {
			delete(l.addresses, c.address)
		}
	}
}

// addressOf returns the network that a connection counts for, the zero Prefix for none. trusted
// says whether it is a trusted proxy's.
func (l *Listener) addressOf(c net.Conn) (network netip.Prefix, trusted bool) {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}, false
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	if slices.ContainsFunc(l.limits.Trusted, func(n netip.Prefix) bool { return n.Contains(addr) }) {
		return netip.Prefix{}, true
	}
	if l.limits.PerAddress == 0 {
		return netip.Prefix{}, false
	}
	network, _ = addr.Prefix(min(64, addr.BitLen())) // Prefix fails only for too many bits.
	return network, false
}
