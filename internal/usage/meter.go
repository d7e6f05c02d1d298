package usage

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

const (
	// FlushInterval is the time between two writes.
	FlushInterval = 500 * time.Millisecond
	// writeTimeout bounds one write, stopTimeout all writes at stop.
	writeTimeout = 2 * time.Second
	stopTimeout  = 5 * time.Second
	// announceEvery is the longest pause between two writes of a server that announces itself.
	// After announcedFor without a write, such a server records each request before it admits it:
	// see Options.Announce.
	announceEvery = 5 * time.Second
	announcedFor  = 10 * time.Second
	// deliverEvery is the longest pause for other servers. It keeps Batch.DeliveredTo up to date.
	deliverEvery = time.Minute
	// deliveryDelay is far longer than the time from the instant of a request until it is counted.
	// If a server is frozen in between, the request still counts, as late usage.
	deliveryDelay = 10 * time.Second
	// reportInterval is how often a continuing outage of the store is logged.
	reportInterval = time.Minute
)

// shards is the number of locks that the counters are spread over.
const shards = 64

// Meter counts requests. All methods are safe for concurrent use.
type Meter struct {
	store    Store
	serverID string
	clock    func() time.Time
	log      zerolog.Logger

	seed   maphash.Seed
	shards shardSet

	// Progress is what was recorded since the start.
	Progress progress

	// soon asks Run to write before FlushInterval has passed.
	soon chan struct{}
	// announced is true while the store knows that this server may have unrecorded requests.
	announced atomic.Bool
	announces bool
	// flushes counts the calls of Flush that had their turn. Everything moved to batches up to the
	// drain recordedTo is recorded.
	flushes, recordedTo atomic.Int64

	// turn guards the following fields and allows one write at a time.
	turn      turn
	number    int64
	drains    int64
	unwritten []Batch
	written   time.Time // when the last successful write was sent
	delivered time.Time // everything before this instant is recorded, or in unwritten
	// flushed is the last error of Flush.
	flushed error
	// recorded is when each key, by its hash, was last recorded as used, in Unix milliseconds.
	recorded map[uint64]int64
	outage   outage
}

// Options configure a Meter or FailedRequests.
type Options struct {
	// ServerID identifies this process among all that write to the store.
	ServerID string
	// Clock numbers the batches of a Meter, and is compared with the times of requests; time.Now if
	// nil.
	Clock func() time.Time
	Log   zerolog.Logger
	// Announce makes the store know of a running Meter even while nothing is counted. So it is
	// known which servers may have admitted requests that are not recorded.
	Announce bool
}

// NewMeter returns a meter that writes to the store. Nothing is written before Run or Flush.
func NewMeter(store Store, o Options) *Meter {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	m := &Meter{
		store: store, serverID: o.ServerID, clock: o.Clock, log: o.Log,
		seed: maphash.MakeSeed(),
		// A restarted server with the same name goes on above its earlier numbers, because it
		// writes far fewer batches than one a microsecond.
		number: o.Clock().UnixMicro(), delivered: o.Clock(),
		recorded: map[uint64]int64{}, announces: o.Announce,
		soon: make(chan struct{}, 1), turn: make(turn, 1),
	}
	began := time.Now()
	m.Progress.complete.Store(&began)
	for i := range m.shards {
		m.shards[i].counters, m.shards[i].tenants = map[Bucket]*counter{}, map[int64]*unrecorded{}
		m.shards[i].refusals = map[Refusal]bool{}
	}
	return m
}

// Unlimited lets Admitted leave any number of requests unrecorded.
const Unlimited = int64(1) << 62

// Admitted counts a request that is to be admitted at that instant, in that minute of the tenant.
// It returns false if more than most of the tenant's requests would then be unrecorded. Then the
// request must not be admitted before Flush has succeeded.
func (m *Meter) Admitted(b Bucket, at time.Time, minute, most int64) bool {
	s := m.shards.of(b.TenantID)
	s.mu.Lock()
	c := s.add(b.in(at), at, 1, 0)
	c.minutes.add(minute, 1)
	if most == Unlimited {
		s.mu.Unlock()
		return true
	}
	n := c.tenant.add(s.drains, m.recordedTo.Load())
	s.mu.Unlock()
	if n == most/2+1 {
		select {
		case m.soon <- struct{}{}:
		default:
		}
	}
	return n <= most && m.announced.Load()
}

// Refused counts a request that a limit refused.
func (m *Meter) Refused(b Bucket, at time.Time) {
	s := m.shards.of(b.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(b.in(at), at, 0, 1)
}

// Used records that an uncounted request used the key.
func (m *Meter) Used(b Bucket, at time.Time) {
	s := m.shards.of(b.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(b.in(at), at, 0, 0)
}

// Refunded uncounts a request that was admitted at that instant and in that minute.
func (m *Meter) Refunded(b Bucket, at time.Time, minute int64) {
	s := m.shards.of(b.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(b.in(at), at, -1, 0).minutes.add(minute, -1)
}

// Run writes the counts every FlushInterval until ctx ends, and then the rest. If that fails, it
// returns an error that says how much was lost. End ctx after the last request.
func (m *Meter) Run(ctx context.Context) error {
	stopping := ctx.Done()
	// A write that is under way when ctx ends is finished, within writeTimeout.
	ctx = context.WithoutCancel(ctx)
	ticker := time.NewTicker(FlushInterval)
	defer ticker.Stop()
	m.announce(ctx)
	for {
		select {
		case <-stopping:
			return m.drain(ctx)
		case <-m.soon:
		case <-ticker.C:
		}
		if isDone(stopping) {
			// While a store hangs, a tick is always ready. The end of ctx must win over it.
			return m.drain(ctx)
		}
		// Flush logs an error and keeps what it could not write.
		if m.Flush(ctx) == nil {
			m.tellRefusals(ctx)
		}
		m.announce(ctx)
	}
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Flush writes everything counted before the call. After an error, the next call writes it. Calls
// that wait for another call's write share the next write.
func (m *Meter) Flush(ctx context.Context) error {
	// The write after the present one begins after this call.
	next := m.flushes.Load() + 1
	if err := m.turn.take(ctx); err != nil {
		return err
	}
	defer m.turn.release()
	if m.flushes.Load() >= next {
		return m.flushed
	}
	m.flushes.Add(1)
	m.flushed = m.writeAll(ctx)
	return m.flushed
}

// turn is a lock whose wait can end with a context.
type turn chan struct{}

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for another write of usage: %w", ctx.Err())
	}
}

func (t turn) release() { <-t }

// writeAll writes the batches that were not written before, and then new ones.
func (m *Meter) writeAll(ctx context.Context) error {
	if err := m.write(ctx); err != nil {
		return err
	}
	m.recordedTo.Store(m.drains)
	m.delivered = m.clock().Add(-deliveryDelay)
	began := time.Now()
	m.unwritten = m.collect()
	m.Progress.begun(m.unwritten)
	m.drains++
	if n := len(m.unwritten); n > 0 {
		m.unwritten[n-1].DeliveredTo = m.delivered
	}
	if err := m.write(ctx); err != nil {
		return err
	}
	m.recordedTo.Store(m.drains)
	m.Progress.complete.Store(&began)
	return nil
}

// write sends the unwritten batches in order until one fails.
func (m *Meter) write(ctx context.Context) error {
	for len(m.unwritten) > 0 {
		if err := m.writeOne(ctx, m.unwritten[0]); err != nil {
			m.outage.failed(m.log, m.clock(), err)
			return fmt.Errorf("write usage: %w", err)
		}
		m.outage.ended(m.log, m.clock())
		m.Progress.wrote(&m.unwritten[0])
		m.unwritten = m.unwritten[1:]
	}
	return nil
}

func (m *Meter) writeOne(ctx context.Context, b Batch) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	sent := time.Now()
	if err := m.store.WriteUsage(ctx, b); err != nil {
		return err
	}
	m.written = sent
	m.announced.Store(true)
	return nil
}

// announce writes an empty batch if nothing was written for a while.
func (m *Meter) announce(ctx context.Context) {
	if m.turn.take(ctx) != nil {
		return
	}
	defer m.turn.release()
	every := deliverEvery
	if m.announces {
		every = announceEvery
	}
	if quiet := time.Since(m.written); len(m.unwritten) == 0 && quiet >= every {
		m.number++
		m.unwritten = []Batch{{ServerID: m.serverID, Number: m.number, DeliveredTo: m.delivered}}
		_ = m.write(ctx) // write logs an error, and the next one sends the batch again.
	}
	if time.Since(m.written) >= announcedFor {
		m.announced.Store(false)
	}
}

// drain writes the rest, and retries until stopTimeout has passed.
func (m *Meter) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	for {
		err := m.Flush(ctx)
		if err == nil {
			m.tellRefusals(ctx)
			return m.end(ctx)
		}
		select {
		case <-time.After(FlushInterval):
		case <-ctx.Done():
			return m.lost(err)
		}
	}
}

// end tells the store that everything is recorded. From then on, nothing may be admitted without
// being recorded.
func (m *Meter) end(ctx context.Context) error {
	m.announced.Store(false)
	if err := m.store.EndUsage(ctx, m.serverID); err != nil {
		return fmt.Errorf("end recording usage: %w", err)
	}
	return nil
}

// lost returns an error that says what was not written.
func (m *Meter) lost(err error) error {
	m.turn <- struct{}{}
	defer m.turn.release()
	var admitted, refused int64
	for _, b := range append(m.unwritten, m.collect()...) {
		for _, c := range b.Counts {
			admitted += c.Admitted
			refused += c.Refused
		}
	}
	return fmt.Errorf("usage of %d admitted and %d refused requests was not recorded: %w", admitted, refused, err)
}
