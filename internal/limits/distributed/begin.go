package distributed

import (
	"context"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

const (
	// initPause is the pause before a tenant that somebody has initialized is looked for again.
	initPause = 10 * time.Millisecond
	// storeTimeout bounds the wait of a request for the durable counters.
	storeTimeout = time.Second
)

// initializer begins tenants' counts in Redis.
type initializer struct {
	options *Options
	backend Backend
	reach   *reach
	seen    *seen
}

// initialize begins the count of a tenant, and of a key, in Redis where the durable counters say
// that it stands. known is true if it had begun before, as far as they know.
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
	n.done(t.Number, &r.Claim)
	return !fresh && r.Status == Uninitialized, nil
}

// beginInRedis begins the count of a tenant, if that is fresh, and of a key.
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

// begin claims the initialization of the claim's tenant, if that is uninitialized, or key. It
// returns a release func, or nil if another goroutine has just done it, or if known is true.
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

// done notes that the tenant's count has begun in a term at a baseline.
func (n *initializer) done(term int64, c *limits.Claim) {
	s := n.seen.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.tenants[c.TenantID]; ok {
		a.initialized = max(a.initialized, term)
	}
}
