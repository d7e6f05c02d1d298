package plans

import (
	"context"
	"errors"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/freshness"
)

// missing is how long a tenant that somebody has opened may be missing in Redis: as long as the one who opened it may take.
const (
	missing      = 100 * time.Millisecond
	missingPause = 10 * time.Millisecond
)

// takeShared has Redis decide. It returns errOver when the term does not decide any more.
func (r *Redis) takeShared(ctx context.Context, t *cluster.Term, c *Claim, now time.Time, count int64) (Decision, error) {
	minute, day := minuteAt(c.TenantID, now), DayAt(now)
	// Who only looks is told how all windows stand, of which a refusal by one says nothing new.
	if count > 0 {
		if d, refused := r.ledger.refused(t.Number, r.session.Load(), c, minute, day, now); refused {
			d.Term = t.Number
			return d, nil
		}
	}
	k := ask{claim: *c, minute: minute, day: day, count: count}
	for waited := time.Duration(0); ; waited += missingPause {
		term, position := r.askShared(&k, now)
		if term != 0 && k.status == counted {
			return k.decision(term, position, count), nil
		}
		if term != t.Number {
			return Decision{}, errOver
		}
		known, err := r.open(ctx, t, &k, now)
		if err != nil {
			return Decision{}, err
		}
		// The first answer may be from before it was opened.
		if known && (waited >= missing || waited > 0 && r.ledger.counted(t.Number, c.TenantID)) {
			r.lose(t.Number, errForgotten)
			return Decision{}, errOver
		}
		if known && waited > 0 {
			r.pause(missingPause)
		}
		k.count, k.answer = count, answer{}
	}
}

// askShared lets one request go with the next flight, and looks alone where nothing is to be counted. It returns the term in
// which the answer counts, 0 for none, and how many requests of the same ask are before this one.
func (r *Redis) askShared(k *ask, now time.Time) (term, position int64) {
	if k.count > 0 {
		return r.fly(k, now)
	}
	asks := []ask{*k}
	term = r.ask(asks, now)
	k.answer = asks[0].answer
	return term, 0
}

// ask asks Redis in the term in force, if it decides, and returns the term in which all the answers count, 0 for none.
func (r *Redis) ask(asks []ask, now time.Time) (term int64) {
	t, ok := r.cluster.Term()
	if !ok || t.Redis == "" || t.Number == r.health.lost.Load() {
		return 0
	}
	// Noted before: what is given back after the script ran must not be missed.
	refunds, session := r.refunds.Load(), r.session.Load()
	if err := r.counters.take(t.Number, asks); err != nil {
		r.lose(t.Number, err)
		return 0
	}
	if !r.holds(&t) {
		if r.cluster.Valid(t.Number) {
			r.lose(t.Number, errOtherRedis)
		}
		return 0
	}
	for i := range asks {
		if !r.accept(t.Number, &asks[i], refunds, session, now) {
			return 0
		}
	}
	return t.Number
}

func (r *Redis) accept(term int64, k *ask, refunds, session int64, now time.Time) bool {
	var f *refusal
	if r.refunds.Load() == refunds {
		f = &refusal{session: session, at: now}
	}
	return r.ledger.accept(term, k, f)
}

// decision returns what one of the requests of an ask got: they count in the order in which they came.
func (k *ask) decision(term, position, count int64) Decision {
	_, fits := k.after()
	d := decide(&k.claim, k.inMinute, k.inDay, k.used.plus(min(position, fits)), count)
	d.Term = term // It may have begun after this request did.
	if k.version != 0 {
		d.Stamp = freshness.Stamp(term<<32 | k.version)
	}
	return d
}

// open has a tenant or a key begin in Redis where Postgres says that it stands. known is true when it had begun before, as
// far as Postgres knows.
func (r *Redis) open(ctx context.Context, t *cluster.Term, k *ask, now time.Time) (known bool, err error) {
	done, known := r.ledger.open(t.Number, k)
	if done == nil {
		return known, nil
	}
	defer done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grantTimeout)
	defer cancel()
	base, fresh, err := r.counterStore.Initialize(ctx, InitRequest{Claim: k.claim, Term: t.Number, At: now})
	if errors.Is(err, ErrTermOver) {
		return false, errOver
	}
	if err != nil {
		return false, err
	}
	if !r.holds(t) {
		return false, errOver
	}
	bounded, cancel := r.bounded(ctx)
	defer cancel()
	if fresh {
		err = r.counters.begin(bounded, t.Number, k.claim.TenantID, base, !r.settledFor(t))
	}
	if err == nil && k.claim.KeyPerMinute > 0 {
		err = r.counters.beginKey(bounded, t.Number, k.claim.TenantID, k.claim.KeyID, base.Minute, base.KeyUsed)
	}
	if err != nil {
		r.lose(t.Number, err)
		return false, errOver
	}
	k.minute, k.day = max(k.minute, base.Minute), max(k.day, base.Day)
	r.ledger.opened(t.Number, k.claim.TenantID)
	return !fresh && k.status == unopened, nil
}
