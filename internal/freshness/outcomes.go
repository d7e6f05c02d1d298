package freshness

import (
	"context"
	"sync"
	"time"
)

const (
	// outcomeEvery is how often outcomes are asked for, and keepEvery how often a write of unknown outcome is announced anew. That leaves
	// time for several attempts while a write intent lasts.
	outcomeEvery = time.Second
	keepEvery    = 3 * time.Second
	// settledAfter is how long the store must have answered without a break before all that was sent to it earlier surely runs. It is
	// longer than the store keeps a statement, or an idle transaction.
	settledAfter = 4 * time.Second
)

// Transactions tells which transactions of the store have ended. They are numbered in the order in which they begin to write.
type Transactions interface {
	// Next returns a number above that of every transaction which has begun to write.
	Next(ctx context.Context) (int64, error)
	// Oldest returns a number below which every transaction has ended: what it wrote is visible, or never will be.
	Oldest(ctx context.Context) (int64, error)
}

// Outcomes is an Invalidator for servers whose commits may take any time: with a synchronous standby that is gone, a commit waits until the
// standby is back, and becomes visible then. A write that was abandoned stays announced until no transaction that may have made it is
// under way. A write that ended so late that readers may not know of it, and could not be announced again, is announced as soon as that
// succeeds. It is safe for concurrent use.
//
// A write that was abandoned less than a second before this process ends, or is killed, is over after WriteIntentTTL, as without Outcomes.
// One that ended late, and was not announced again before that, is not announced.
type Outcomes struct {
	inner        Invalidator
	transactions Transactions
	// answering is since when the store has answered without a break, zero if it did not. Only Run uses it.
	answering time.Time
	wake      chan struct{}

	mu sync.Mutex
	// unknown has the writes of each tenant that were abandoned, or could not be announced again.
	unknown map[int64]*unknownWrites
}

var _ Invalidator = (*Outcomes)(nil)

type unknownWrites struct {
	// writes are those that keep the catalogue without a stamp: the abandoned ones, or the one that was announced in their place.
	writes []*Write
	// since is when the last one was abandoned. announced is when one last was announced, zero if that is to be done as soon as it can be.
	since, announced time.Time
	// next is above the number of every transaction that may have made one of the writes; 0 if that is not known yet, 1 if none is under way.
	next int64
}

// NewOutcomes returns an Invalidator that announces writes by inner. It needs Run.
func NewOutcomes(inner Invalidator, t Transactions) *Outcomes {
	return &Outcomes{inner: inner, transactions: t, wake: make(chan struct{}, 1), unknown: map[int64]*unknownWrites{}}
}

// BeginWrite implements Invalidator.
func (o *Outcomes) BeginWrite(ctx context.Context, tenantID int64) (*Write, error) {
	w, err := o.inner.BeginWrite(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	return NewWrite(func(settled bool) error {
		if settled {
			err := w.Commit()
			if err != nil {
				o.announceAgain(tenantID)
			}
			return err
		}
		o.await(tenantID, w)
		return nil
	}), nil
}

// announceAgain has a write announced as soon as that succeeds, which then is over. Until then readers may not know of it.
func (o *Outcomes) announceAgain(tenantID int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	u, ok := o.unknown[tenantID]
	if !ok {
		u = &unknownWrites{next: 1}
		o.unknown[tenantID] = u
	}
	u.announced = time.Time{}
	o.wakeRun()
}

func (o *Outcomes) await(tenantID int64, w *Write) {
	o.mu.Lock()
	defer o.mu.Unlock()
	u, ok := o.unknown[tenantID]
	if !ok {
		u = &unknownWrites{announced: time.Now()}
		o.unknown[tenantID] = u
	}
	u.writes = append(u.writes, w)
	u.since, u.next = time.Now(), 0
	o.wakeRun()
}

func (o *Outcomes) wakeRun() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Run waits for outcomes until ctx ends. Without abandoned writes it does nothing.
func (o *Outcomes) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.wake:
		}
		for o.count() > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(outcomeEvery):
			}
			o.keep(ctx)
			o.settle(ctx)
		}
		o.answering = time.Time{}
	}
}

func (o *Outcomes) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.unknown)
}

// keep announces anew what was announced long ago. It stops at the first failure: while nothing can be announced, as between two terms,
// there are no stamps.
func (o *Outcomes) keep(ctx context.Context) {
	for _, tenantID := range o.due() {
		w, err := o.inner.BeginWrite(ctx, tenantID)
		if err != nil {
			return
		}
		o.mu.Lock()
		u := o.unknown[tenantID]
		before := u.writes
		u.writes, u.announced = []*Write{w}, time.Now()
		o.mu.Unlock()
		for _, b := range before {
			_ = b.Commit() // Its successor is announced.
		}
	}
}

func (o *Outcomes) due() (tenantIDs []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, u := range o.unknown {
		if time.Since(u.announced) >= keepEvery {
			tenantIDs = append(tenantIDs, id)
		}
	}
	return tenantIDs
}

// settle ends the writes whose transactions have ended.
func (o *Outcomes) settle(ctx context.Context) {
	oldest, err := o.transactions.Oldest(ctx)
	if err != nil {
		o.answering = time.Time{}
		return
	}
	if o.answering.IsZero() {
		o.answering = time.Now()
	}
	for tenantID, u := range o.over(oldest) {
		for _, w := range u.writes {
			if w.Commit() != nil {
				o.announceAgain(tenantID)
			}
		}
	}
	sent := time.Now()
	if sent.Sub(o.answering) < settledAfter || !o.setNext(sent, 0) {
		return
	}
	if next, err := o.transactions.Next(ctx); err == nil {
		o.setNext(sent, next)
	}
}

// setNext sets next for the writes that surely have begun or never will: they were abandoned long enough before it was asked for. It reports
// whether there are such.
func (o *Outcomes) setNext(sent time.Time, next int64) (some bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, u := range o.unknown {
		if u.next == 0 && sent.Sub(u.since) >= WriteIntentTTL {
			u.next, some = next, true
		}
	}
	return some
}

// over removes and returns the writes of each tenant whose transactions have ended, if readers know of them.
func (o *Outcomes) over(oldest int64) map[int64]*unknownWrites {
	o.mu.Lock()
	defer o.mu.Unlock()
	over := map[int64]*unknownWrites{}
	for id, u := range o.unknown {
		if u.next != 0 && u.next <= oldest && !u.announced.IsZero() {
			over[id] = u
			delete(o.unknown, id)
		}
	}
	return over
}
