package storeclock

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Tolerance is how far this machine's wall clock may be off before that is reported.
	Tolerance = time.Second
	// MaxPause is the longest time that instants stand still when the store's clock was set back.
	// They are ahead of the store meanwhile.
	MaxPause = time.Second
)

// Clock gives instants by the store's clock.
type Clock struct {
	read func() Reading
	base atomic.Pointer[base]
	// measuring lets one measurement change the base at a time.
	measuring sync.Mutex
}

// Reading is what a machine's clocks show: the wall clock, in Unix nanoseconds, and the monotonic
// one, in nanoseconds.
type Reading struct{ Local, Monotonic int64 }

// base ties the monotonic clock to an instant.
type base struct {
	monotonic int64
	// at is the instant at that time. floor is the earliest instant given from then on. Both are in
	// Unix nanoseconds.
	at, floor int64
	// least is the earliest instant that the store's clock may have shown at that time.
	least int64
	// ahead is how far the wall clock was ahead of the store's; 0 if they agreed within a round
	// trip.
	ahead time.Duration
	// measured is false until the first measurement.
	measured bool
}

// New returns a clock of this machine. Until the first measurement its instants are those of the
// machine's own clock.
func New() *Clock { return Of(machine) }

var started = time.Now()

// machine reads this machine's clocks. No other code that makes decisions reads them.
func machine() Reading {
	now := time.Now()
	return Reading{now.UnixNano(), monotonic(now)}
}

func monotonic(t time.Time) int64 { return int64(t.Sub(started)) }

// Of returns a clock of another machine, for tests.
func Of(read func() Reading) *Clock {
	c := &Clock{read: read}
	now := read()
	c.base.Store(&base{monotonic: now.Monotonic, at: now.Local, least: now.Local})
	return c
}

// Now returns the present instant.
func (c *Clock) Now() time.Time { return c.instant(c.read().Monotonic) }

// Instant returns the instant of a time returned by time.Now. Only its monotonic part counts.
func (c *Clock) Instant(t time.Time) time.Time { return c.instant(monotonic(t)) }

func (c *Clock) instant(monotonic int64) time.Time {
	return time.Unix(0, c.base.Load().instant(monotonic))
}

// Earliest returns the earliest instant that the store's clock may show at a time returned by
// time.Now, by the last measurement. What ends at or before that instant by the store's clock has
// ended at that time. Only the monotonic part of the time counts.
func (c *Clock) Earliest(t time.Time) time.Time {
	b := c.base.Load()
	return time.Unix(0, b.least+monotonic(t)-b.monotonic)
}

func (b *base) instant(monotonic int64) int64 { return max(b.floor, b.at+monotonic-b.monotonic) }

// Ahead returns the least time by which this machine's wall clock was ahead of the store's in the
// last measurement, negative if it was behind.
func (c *Clock) Ahead() time.Duration { return c.base.Load().ahead }

// Off reports whether Ahead is more than Tolerance, in either direction.
func (c *Clock) Off() bool { return c.Ahead().Abs() > Tolerance }

// Measure calls read, which returns the store's time as read during the call. Instants follow it
// from then on. It returns the error of read.
func (c *Clock) Measure(read func() (time.Time, error)) error {
	sent := c.read()
	store, err := read()
	if err != nil {
		return err
	}
	c.follow(sent, store.UnixNano(), c.read())
	return nil
}

// follow moves instants as little as the measurement demands. At received, the store's clock shows
// at least store, and at most a round trip more.
func (c *Clock) follow(sent Reading, store int64, received Reading) {
	c.measuring.Lock()
	defer c.measuring.Unlock()
	before := c.base.Load()
	latest := store + received.Monotonic - sent.Monotonic
	was := before.instant(received.Monotonic)
	next := &base{
		monotonic: received.Monotonic,
		least:     store,
		at:        clamp(before.at+received.Monotonic-before.monotonic, store, latest),
		ahead:     time.Duration(received.Local - clamp(received.Local, store, latest)),
		measured:  true,
	}
	if before.measured && was-next.at <= int64(MaxPause) {
		next.floor = was
	}
	c.base.Store(next)
}

func clamp(n, least, most int64) int64 { return min(max(n, least), most) }
