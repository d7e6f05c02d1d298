package server

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
	"petstore.example/internal/store/undo"
)

const (
	pruneEvery = time.Minute
	// pruneBatch keeps each statement short: a request that reuses an expired key waits for it, and
	// so do those that share its transaction.
	pruneBatch = 500
	// rollUpBatch is the number of hours of usage summed in a transaction. Nobody waits for it.
	rollUpBatch = 20000
	// keyLimitAge is longer than the servers' clocks can differ.
	keyLimitAge = 10 * time.Minute
	// pruneSlice bounds the time spent on one kind before the next gets its turn. The rest follows
	// a minute later.
	pruneSlice = 30 * time.Second
	// retentionTimeout is for the last step of a roll-up, which reads a whole month.
	retentionTimeout = 10 * time.Minute
)

// pruner deletes at most limit rows that ended before the given time. It returns the number of
// deleted rows, and whether there may be more.
type pruner func(ctx context.Context, before time.Time, limit int) (removed int, more bool, err error)

// batches makes a pruner that reports more rows as long as a batch is full.
func batches(prune func(ctx context.Context, before time.Time, limit int) (int, error)) pruner {
	return func(ctx context.Context, before time.Time, limit int) (int, bool, error) {
		removed, err := prune(ctx, before, limit)
		return removed, removed >= limit, err
	}
}

// expiring is a kind of row that is kept for some time after its end.
type expiring struct {
	kind  string
	prune pruner
	// age is how long such a row is kept, for a kind that is not in the table of retention.
	age time.Duration
	// limit is the size of a batch. 0 stands for pruneBatch.
	limit int
}

// pruning removes expired rows.
type pruning struct {
	all []expiring
	// url is the database's URL, for the kinds that need their own connection because their
	// statements take longer; "" if there are none.
	url     string
	metrics *retentionMetrics
	log     zerolog.Logger
}

// startPruning removes expired rows every minute until stop is called.
func startPruning(db *store.DB, url string, metrics prometheus.Registerer, log zerolog.Logger) (stop func()) {
	p := pruning{all: allExpiring(db), url: url, metrics: newRetentionMetrics(metrics), log: log}
	return background(
		log,
		"delete expired rows",
		func(ctx context.Context) error { return every(ctx, pruneEvery, func() { p.prune(ctx) }) },
	)
}

// prune logs an error. The next run tries again: expired rows only take disk space.
func (p pruning) prune(ctx context.Context) {
	if err := p.run(ctx); err != nil && ctx.Err() == nil {
		p.log.Warn().Err(err).Msg("delete expired rows")
	}
}

// allExpiring are the kinds that are removed on the connections of requests.
func allExpiring(db *store.DB) []expiring {
	return []expiring{
		{kind: "idempotency_keys", prune: batches(db.Idempotency.Prune)},
		{kind: admin.RetentionFailed, prune: batches(db.FailedRequests.Prune)},
		{kind: "key_limits", prune: batches(db.Counters.Prune), age: keyLimitAge},
		{kind: "sign_ins", prune: batches(db.SignIns.Prune)},
		{kind: "undo_values", prune: batches(db.Audit.PruneUndoValues), age: undo.MaxAge},
	}
}

// allRetained are the kinds of the table of retention whose statements take longer.
func allRetained(db *store.DB) []expiring {
	retained := func(kind string) pruner {
		return func(ctx context.Context, _ time.Time, limit int) (int, bool, error) {
			return db.Retention.Prune(ctx, kind, limit)
		}
	}
	return []expiring{
		{kind: "usage_partitions", prune: func(ctx context.Context, _ time.Time, _ int) (int, bool, error) {
			_, err := db.Retention.AddPartitions(ctx)
			return 0, false, err
		}},
		{kind: "audit_partitions", prune: func(ctx context.Context, _ time.Time, _ int) (int, bool, error) {
			_, err := db.Retention.CutAudit(ctx)
			return 0, false, err
		}},
		{kind: admin.RetentionBans, prune: retained(admin.RetentionBans)},
		{kind: admin.RetentionKeys, prune: retained(admin.RetentionKeys)},
		{kind: admin.RetentionUsage, prune: retained(admin.RetentionUsage), limit: rollUpBatch},
	}
}

func (p pruning) run(ctx context.Context) error {
	err := p.each(ctx, p.all)
	if p.url == "" || ctx.Err() != nil {
		return err
	}
	long, openErr := store.Open(ctx, p.url, store.Options{AsAPI: true, MaxConns: 1, Timeout: retentionTimeout})
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	return errors.Join(err, p.each(ctx, allRetained(long)), long.Close())
}

func (p pruning) each(ctx context.Context, all []expiring) error {
	var errs []error
	for _, e := range all {
		begin := time.Now()
		removed, err := e.pruneUntil(ctx, begin.Add(-e.age))
		p.metrics.observe(e.kind, removed, time.Since(begin), err)
		if !errors.Is(err, admin.ErrRetentionBusy) && !errors.Is(err, admin.ErrRetentionLocked) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// pruneUntil repeats prune until no rows are left or the time is over. It rests after each batch as
// long as that took, so that Postgres has at least half of the time for others.
func (e expiring) pruneUntil(ctx context.Context, before time.Time) (removed int, err error) {
	for end := time.Now().Add(pruneSlice); ; {
		begin := time.Now()
		n, more, err := e.prune(ctx, before, cmp.Or(e.limit, pruneBatch))
		removed += n
		if err != nil || !more || time.Now().After(end) {
			return removed, err
		}
		select {
		case <-ctx.Done():
			return removed, nil
		case <-time.After(time.Since(begin)):
		}
	}
}

// retentionMetrics show the removed rows.
type retentionMetrics struct {
	removed           *prometheus.CounterVec
	duration, success *prometheus.GaugeVec
}

func newRetentionMetrics(r prometheus.Registerer) *retentionMetrics {
	m := &retentionMetrics{
		removed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_retention_removed_rows_total",
			Help: "Rows that this server removed because they were old, by kind.",
		}, []string{"kind"}),
		duration: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "petstore_retention_last_duration_seconds",
			Help: "How long this server's last run took that removed what is old, in seconds, by kind.",
		}, []string{"kind"}),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "petstore_retention_last_success_timestamp_seconds",
			Help: "When a run of this server last ended without an error, by kind.",
		}, []string{"kind"}),
	}
	r.MustRegister(m.removed, m.duration, m.success)
	return m
}

func (m *retentionMetrics) observe(kind string, removed int, took time.Duration, err error) {
	m.removed.WithLabelValues(kind).Add(float64(removed))
	m.duration.WithLabelValues(kind).Set(took.Seconds())
	// The metric is 0 if no run has succeeded yet, so that an alert sees it.
	if last := m.success.WithLabelValues(kind); err == nil {
		last.SetToCurrentTime()
	}
}
