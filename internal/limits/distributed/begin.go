package distributed

import (
	"context"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

const (
	// initPause is the pause before the next look for a tenant that another server is initializing.
	initPause = 10 * time.Millisecond
	// storeTimeout bounds a request's wait for the durable counters.
	storeTimeout = time.Second
)

// initializer begins tenants' counts in Redis.
type initializer struct {
	options *Options
	backend Backend
	reach   *reach
	seen    *seen
}

// initialize begins the count of a tenant, and of a key, in Redis at the value of the durable
// counters. known is true if, by those counters, the count had begun before.
func (n *initializer) initialize(
	ctx context.Context,
	t *cluster.Term,
	r *Request,
	now time.Time,
) (known bool, err error) {
	release, known := n.begin(t.Number, &r.Claim, r.Day, r.Status == Uninitialized)
	if release == nil {
		return known, nil
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	base, fresh, err := n.options.Counters.Initialize(ctx, counter.InitRequest{Claim: r.Claim, Term: t.Number, At: now})
	if err != nil {
		return false, err
	}
	if !n.reach.valid(t) {
		return false, errTermOver
	}
	if err := n.beginInRedis(ctx, t, &r.Claim, base, fresh); err != nil {
		return false, errTermOver
	}
	r.Minute, r.Day = max(r.Minute, base.Minute), max(r.Day, base.Day)
	r.Month = max(r.Month, r.Claim.Counts(base.Month))
	n.done(t.Number, &r.Claim)
	return !fresh && r.Status == Uninitialized, nil
}

// beginInRedis begins the count of a key, and of its tenant if fresh is set.
func (n *initializer) beginInRedis(
	ctx context.Context,
	t *cluster.Term,
	c *limits.Claim,
	base counter.Baseline,
	fresh bool,
) error {
	return n.reach.call(t.Number, func() error {
		bounded, cancel := n.options.bounded(ctx)
		defer cancel()
		if fresh {
			err := n.backend.InitTenant(bounded, t.Number, c.TenantID, base, !n.reach.writesSettled(t))
			if err != nil {
				return err
			}
		}
		if c.KeyPerMinute <= 0 {
			return nil
		}
		return n.backend.InitKey(bounded, t.Number, c.TenantID, c.KeyID, base.Minute, base.KeyUsed)
	})
}

// begin claims the initialization of the claim's key, or of its tenant if uninitialized is set. It
// returns a release func, or nil if known is true or another goroutine has just initialized it.
func (n *initializer) begin(term int64, c *limits.Claim, day int64, uninitialized bool) (release func(), known bool) {
	s := n.seen.shard(c.TenantID)
	s.mu.Lock()
	a := s.tenant(c.TenantID, day)
	if a.initialized == term && uninitialized {
		s.mu.Unlock()
		return nil, true
	}
	if other := a.initializing; other != nil {
		s.mu.Unlock()
		<-other
		return nil, false
	}
	defer s.mu.Unlock()
	done := make(chan struct{})
	a.initializing = done
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		a.initializing = nil
		close(done)
	}, false
}

// done records that the tenant's count has begun in a term at a baseline.
func (n *initializer) done(term int64, c *limits.Claim) {
	s := n.seen.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.tenants[c.TenantID]; ok {
		a.initialized = max(a.initialized, term)
	}
}
