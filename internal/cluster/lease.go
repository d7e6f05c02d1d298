package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// lease is a term, the time at which this server began to act by it, and the time until which it
// may act without another renewal.
type lease struct {
	term         Term
	since, until time.Time
}

// leaseView answers whether this server may act now. Renewals write it; requests read it without a
// lock.
type leaseView struct {
	clock   func() time.Time
	current atomic.Pointer[lease]
	// renewedUntil is the end of a lease that begins with the last successful renewal. failing is
	// set if the most recent renewal failed.
	renewedUntil atomic.Pointer[time.Time]
	failing      atomic.Bool

	mu sync.Mutex
	// granted is closed and replaced whenever a lease is granted. ends is when the last granted
	// lease expires.
	granted  chan struct{}
	ends     time.Time
	onRegain []func()
}

// Term returns the term in force. It returns false between two terms and when the lease has
// expired.
func (v *leaseView) Term() (Term, bool) {
	t, _, ok := v.TermSince()
	return t, ok
}

// TermSince returns the term in force as Term does, and when this server began to act by it.
func (v *leaseView) TermSince() (t Term, since time.Time, ok bool) {
	l := v.current.Load()
	if l == nil || !v.clock().Before(l.until) {
		return Term{}, time.Time{}, false
	}
	return l.term, l.since, true
}

// Valid reports whether the term with that number is in force now. Check it again after each wait,
// before using the result: the process may have been frozen meanwhile.
func (v *leaseView) Valid(number int64) bool {
	l := v.current.Load()
	return l != nil && l.term.Number == number && v.clock().Before(l.until)
}

// StoreUnreachable reports whether renewals have failed for as long as a lease lasts: no term is in
// force then, and none can begin. It is false between two terms, and in a process that was frozen
// and has not tried since.
func (v *leaseView) StoreUnreachable() bool {
	if !v.failing.Load() {
		return false
	}
	until := v.renewedUntil.Load()
	return until == nil || !v.clock().Before(*until)
}

// Await returns the term in force, and waits for one if there is none. It returns the context's
// error if the context ends first.
func (v *leaseView) Await(ctx context.Context) (Term, error) {
	for {
		granted := v.nextGrant()
		if t, ok := v.Term(); ok {
			return t, nil
		}
		select {
		case <-ctx.Done():
			return Term{}, ctx.Err()
		case <-granted:
		}
	}
}

func (v *leaseView) nextGrant() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.granted
}

// OnRegain registers f, to be called when a lease begins after an earlier one has expired. Then
// this server was frozen or cut off from the store, and may have missed changes. No term is in
// force until f has returned. f must not use the member.
func (v *leaseView) OnRegain(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.onRegain = append(v.onRegain, f)
}

func (v *leaseView) grant(t Term, until time.Time) {
	v.regain(until)
	since := v.clock()
	if l := v.current.Load(); l != nil && l.term.Number == t.Number {
		since = l.since
	}
	v.current.Store(&lease{term: t, since: since, until: until})
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.granted)
	v.granted = make(chan struct{})
}

// shorten makes the lease end at that time if it would end later.
func (v *leaseView) shorten(until time.Time) {
	if l := v.current.Load(); l != nil && l.until.After(until) {
		v.current.Store(&lease{term: l.term, since: l.since, until: until})
	}
}

// regain calls OnRegain's functions if there was a time without a lease before this one.
func (v *leaseView) regain(until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.ends.IsZero() && !v.clock().Before(v.ends) {
		for _, f := range v.onRegain {
			f()
		}
	}
	v.ends = until
}

func (v *leaseView) revoke() { v.current.Store(nil) }
