package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// longestProbe is how long calls wait for the response of another one that would show how many
	// requests remain.
	longestProbe = time.Second
	// recheck is how often the service is asked again during a wait that is too long: staff may
	// have raised the limit or lifted the ban.
	recheck = time.Minute
)

// queue lets calls go first come, first served: as many as the limit has requests remaining. When
// none remain, or after a 429, all of them wait for the reset.
//
// What remains is unknown at first, and after each reset. Then one call goes, and two for each
// response. So programs that share a key learn of each other before they send many requests.
type queue struct {
	maxWait time.Duration
	random  func() float64

	mu      sync.Mutex
	waiting []*turn
	timer   *time.Timer // nil before the first wait
	// unanswered is how many calls have gone without a response so far. It may exceed answered, the
	// number of responses since the reset, by one.
	unanswered, answered int
	lastGone             time.Time // when the last call went
	refusals             int       // 429s in a row, without those of requests that were sent before the first
	window               window
}

// turn is a call's place in the queue.
type turn struct {
	method, path string
	deadline     time.Time  // of its context, or zero
	result       chan error // gets nil when the call may go, or why it can't wait
}

// window is what responses have shown of a limit, or of a ban. The zero value is unknown.
type window struct {
	// rate has the lowest number of remaining requests. Unanswered calls may be in it.
	rate Rate
	// end is the reset by this machine's clock, and until when calls wait if no request remains:
	// that is later by a random time.
	end, until time.Time
	refusal    *Error // of a 429, or nil
}

func (w *window) known() bool { return !w.end.IsZero() }

func (w *window) usedUp() bool { return w.known() && w.rate.Remaining == 0 }

// enter waits until a call may go; then observe must be called. first puts it at the head of the
// queue. It returns an *Error at once if the reset comes too late for the call. If the context ends
// meanwhile, it returns its error.
func (q *queue) enter(ctx context.Context, method, path string, first bool) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("petstore: %w", err)
	}
	t := &turn{method: method, path: path, result: make(chan error, 1)}
	t.deadline, _ = ctx.Deadline()
	q.add(t, first)
	select {
	case err := <-t.result:
		return err
	case <-ctx.Done():
		return q.abandon(t, ctx.Err())
	}
}

func (q *queue) add(t *turn, first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.advance() // The window may have ended.
	if q.tooLong(t) {
		return
	}
	if q.waiting = append(q.waiting, t); first {
		copy(q.waiting[1:], q.waiting)
		q.waiting[0] = t
	}
	q.advance()
}

// abandon takes a turn back whose context has ended.
func (q *queue) abandon(t *turn, ended error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.advance()
	if i := slices.Index(q.waiting, t); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	} else if <-t.result == nil {
		q.unanswered--
	}
	if q.window.usedUp() {
		return fmt.Errorf("%w; waiting for the reset: %w", q.denial(t, "the context ended"), ended)
	}
	return fmt.Errorf("petstore: waiting for other calls: %w", ended)
}

// observe notes what a call has returned, and what the response shows of the limit: a is nil if
// there was none, and err its error. entered is whether the call had entered.
func (q *queue) observe(a *rawResponse, err error, entered bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.advance()
	if entered {
		q.unanswered--
		q.answered++
	}
	now := time.Now()
	var e *Error
	switch refused := errors.As(err, &e) && e.Status == http.StatusTooManyRequests; {
	case a == nil:
		if entered && q.window.rate.Remaining > 0 {
			q.window.rate.Remaining-- // It may have been counted.
		}
	case refused:
		q.refuse(e, now)
	case a.status < http.StatusInternalServerError && (q.window.refusal == nil || !now.Before(q.window.until)):
		q.refusals = 0
		q.see(rateOf(a.header), untilReset(a.header, now), now)
	}
}

// refuse notes a 429.
func (q *queue) refuse(e *Error, now time.Time) {
	end := now.Add(e.RetryAfter)
	if e.RetryAfter == 0 || q.window.refusal != nil && !end.After(q.window.until) {
		return
	}
	if q.window.refusal == nil {
		q.refusals++
	}
	refusal := *e // The caller may change its own.
	q.window = window{rate: Rate{Limit: e.Rate.Limit, Reset: e.Rate.Reset}, end: end, refusal: &refusal}
	q.hold(e.RetryAfter, now)
}

// see notes what remains, and for how long.
func (q *queue) see(r Rate, left time.Duration, now time.Time) {
	if left <= 0 || r.Limit == 0 {
		return // It does not say, or the response took longer.
	}
	w := &q.window
	if !w.known() || !w.rate.Reset.Equal(r.Reset) {
		*w = window{rate: r, end: now.Add(left), until: now.Add(left)}
	} else if r.Remaining >= w.rate.Remaining {
		return // of an earlier request
	}
	if w.rate.Remaining = r.Remaining; r.Remaining == 0 {
		q.hold(left, now)
	}
}

// hold sets until when calls wait. Those that can't wait so long fail.
func (q *queue) hold(left time.Duration, now time.Time) {
	q.window.until = q.window.end.Add(jitter(left, q.refusals, q.random()))
	if left > q.maxWait {
		q.window.until = now.Add(min(left, recheck))
	}
	q.waiting = slices.DeleteFunc(q.waiting, q.tooLong)
}

// advance lets calls go, and sets the timer for those that wait. It must be called after each
// change.
func (q *queue) advance() {
	now := time.Now()
	if q.window.known() && !now.Before(q.window.until) {
		q.window, q.answered = window{}, q.unanswered
	}
	for len(q.waiting) > 0 && !q.full() && (q.unanswered <= q.answered || now.Sub(q.lastGone) >= longestProbe) {
		q.unanswered++
		q.lastGone = now
		q.waiting[0].result <- nil
		q.waiting = q.waiting[1:]
	}
	q.setTimer(now)
}

// full is whether the unanswered calls may use up what remains.
func (q *queue) full() bool {
	return q.window.known() && q.window.rate.Remaining <= int64(q.unanswered)
}

func (q *queue) setTimer(now time.Time) {
	if len(q.waiting) == 0 {
		return
	}
	next := q.lastGone.Add(longestProbe)
	if q.full() {
		next = q.window.until
	}
	if q.timer != nil {
		q.timer.Stop()
	}
	q.timer = time.AfterFunc(next.Sub(now), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.advance()
	})
}

// tooLong fails a call that can't wait for the reset.
func (q *queue) tooLong(t *turn) bool {
	switch {
	case !q.window.usedUp():
		return false
	case time.Until(q.window.end) > q.maxWait:
		t.result <- q.denial(t, fmt.Sprintf("the longest wait is %v", q.maxWait))
	case !t.deadline.IsZero() && t.deadline.Before(q.window.until):
		t.result <- q.denial(t, "the context ends before the limit resets")
	default:
		return false
	}
	return true
}

// denial returns an error like that of the service, for a call that was not sent.
func (q *queue) denial(t *turn, why string) *Error {
	left := time.Until(q.window.end)
	e := Error{Status: http.StatusTooManyRequests, Code: CodeRateLimitExceeded, Rate: q.window.rate}
	if left > time.Minute { // as no other window
		e.Code = CodeDailyQuotaExceeded
	}
	if q.window.refusal != nil {
		e = *q.window.refusal
	}
	e.Method, e.Path, e.RetryAfter = t.method, t.path, max(0, left)
	e.Message = fmt.Sprintf("Not sent: %s.", why)
	return &e
}
