package usage

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const (
	// FlushInterval is the time between two writes.
	FlushInterval = 500 * time.Millisecond
	// writeTimeout bounds one write, stopTimeout all writes at stop.
	writeTimeout = 2 * time.Second
	stopTimeout  = 5 * time.Second
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
	shards [shards]shard

	// flushing guards what follows and allows one write at a time.
	flushing  sync.Mutex
	number    int64
	unwritten []Batch
	// recorded is when each key, by its hash, was last recorded as used, in Unix milliseconds.
	recorded map[uint64]int64
	outage   outage
}

// Options configure a Meter or Refusals.
type Options struct {
	// ServerID identifies this process among all that write to the store.
	ServerID string
	// Clock numbers the batches of a Meter, which compares it with the times of requests; time.Now if nil.
	Clock func() time.Time
	Log   zerolog.Logger
}

// NewMeter returns a meter that writes to the store. Nothing is written before Run or Flush.
func NewMeter(store Store, o Options) *Meter {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	m := &Meter{
		store: store, serverID: o.ServerID, clock: o.Clock, log: o.Log,
		seed: maphash.MakeSeed(),
		// A restarted server of the same name goes on above its earlier numbers, because it writes far fewer
		// batches than one a microsecond.
		number:   o.Clock().UnixMicro(),
		recorded: map[uint64]int64{},
	}
	for i := range m.shards {
		m.shards[i].counters = map[Bucket]*counter{}
	}
	return m
}

// Admitted counts a request that was admitted at that instant.
func (m *Meter) Admitted(tenantID int64, keyID, plan string, at time.Time) {
	m.add(tenantID, keyID, plan, at, 1, 0)
}

// Refused counts a request that a limit refused.
func (m *Meter) Refused(tenantID int64, keyID, plan string, at time.Time) {
	m.add(tenantID, keyID, plan, at, 0, 1)
}

// Refunded uncounts a request that was admitted at that instant.
func (m *Meter) Refunded(tenantID int64, keyID, plan string, at time.Time) {
	m.add(tenantID, keyID, plan, at, -1, 0)
}

func (m *Meter) add(tenantID int64, keyID, plan string, at time.Time, admitted, refused int64) {
	bucket := Bucket{TenantID: tenantID, KeyID: keyID, Plan: plan, Hour: at.Unix() / 3600 * 3600}
	m.shards[maphash.String(m.seed, keyID)%shards].add(bucket, at, admitted, refused)
}

// Run writes the counts every FlushInterval until ctx ends, and then what is left. If that fails, it returns
// an error that says how much was lost. End ctx after the last request.
func (m *Meter) Run(ctx context.Context) error {
	stopping := ctx.Done()
	// A write under way when ctx ends is finished, within writeTimeout.
	ctx = context.WithoutCancel(ctx)
	ticker := time.NewTicker(FlushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-stopping:
			return m.drain(ctx)
		case <-ticker.C:
			if isDone(stopping) {
				// While a store hangs a tick is always ready. It must not be preferred to the end.
				return m.drain(ctx)
			}
			// It logs an error and keeps what it could not write.
			_ = m.Flush(ctx)
		}
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

// Flush writes everything that was counted before the call. After an error, the next call writes it.
func (m *Meter) Flush(ctx context.Context) error {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	if err := m.write(ctx); err != nil {
		return err
	}
	m.unwritten = m.collect()
	return m.write(ctx)
}

// write sends the unwritten batches in order until one fails.
func (m *Meter) write(ctx context.Context) error {
	for len(m.unwritten) > 0 {
		if err := m.writeOne(ctx, m.unwritten[0]); err != nil {
			m.outage.failed(m.log, m.clock(), err)
			return fmt.Errorf("write usage: %w", err)
		}
		m.outage.ended(m.log, m.clock())
		m.unwritten = m.unwritten[1:]
	}
	return nil
}

func (m *Meter) writeOne(ctx context.Context, b Batch) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return m.store.WriteUsage(ctx, b)
}

// drain writes what is left, and retries until stopTimeout has passed.
func (m *Meter) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	for {
		err := m.Flush(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(FlushInterval):
		case <-ctx.Done():
			return m.lost(err)
		}
	}
}

// lost returns an error that says what was not written.
func (m *Meter) lost(err error) error {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	var admitted, refused int64
	for _, b := range append(m.unwritten, m.collect()...) {
		for _, c := range b.Counts {
			admitted += c.Admitted
			refused += c.Refused
		}
	}
	return fmt.Errorf("usage of %d admitted and %d refused requests was not recorded: %w", admitted, refused, err)
}
