package distributed

import (
	"context"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

const (
	// initTime is how long a tenant that somebody has initialized may be missing in Redis, because the caller who did is still at it:
	// for two of DefaultTimeout, if its own call fails and another server makes it.
	initTime = 250 * time.Millisecond
	// initPause is the pause before it is looked for again.
	initPause = 10 * time.Millisecond
	// storeTimeout bounds the wait of a request for the durable counters.
	storeTimeout = time.Second
)

// initializer begins tenants' counts in Redis.
type initializer struct {
	options *Options
	backend Backend
	health  *redisHealth
	view    *localView
}

// initialize begins the count of a tenant, and of a key, in Redis where the durable counters say that it stands. known is true if it had
// begun before, as far as they know.
func (n *initializer) initialize(ctx context.Context, t *cluster.Term, r *Request, now time.Time) (known bool, err error) {
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
	if !n.health.valid(t) {
		return false, errTermOver
	}
	bounded, cancel := n.options.bounded(ctx)
	defer cancel()
	if fresh {
		err = n.backend.InitTenant(bounded, t.Number, r.Claim.TenantID, base, !n.health.writesSettled(t))
	}
	if err == nil && r.Claim.KeyPerMinute > 0 {
		err = n.backend.InitKey(bounded, t.Number, r.Claim.TenantID, r.Claim.KeyID, base.Minute, base.KeyUsed)
	}
	if err != nil {
		n.health.lose(t.Number, err)
		return false, errTermOver
	}
	r.Minute, r.Day = max(r.Minute, base.Minute), max(r.Day, base.Day)
	n.done(t.Number, &r.Claim, base)
	return !fresh && r.Status == Uninitialized, nil
}

// learn asks the durable counters what is unknown of a tenant's windows. If another goroutine is just doing that, it waits.
func (n *initializer) learn(ctx context.Context, t *cluster.Term, c *limits.Claim, now time.Time) error {
	release, _ := n.begin(t.Number, c, limits.DayAt(now), false)
	if release == nil {
		return nil
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	base, _, err := n.options.Counters.Initialize(ctx, counter.InitRequest{Claim: *c, Term: t.Number, At: now})
	if err == nil {
		n.done(t.Number, c, base)
	}
	return err
}

// begin claims the initialization of the claim's tenant, if that is uninitialized, or key. It returns a release func, or nil if another goroutine has just done
// it, or if known is true.
func (n *initializer) begin(term int64, c *limits.Claim, day int64, uninitialized bool) (release func(), known bool) {
	s := n.view.shard(c.TenantID)
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
func (n *initializer) done(term int64, c *limits.Claim, base counter.Baseline) {
	s := n.view.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.tenants[c.TenantID]; ok {
		a.initialized = max(a.initialized, term)
		a.learn(term, c, base)
	}
}
