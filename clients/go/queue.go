package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// longestProbe is the longest wait for another call's response that would show how many
	// requests remain.
	longestProbe = time.Second
	// recheck is how long calls wait at most before one asks the service again: staff may have
	// raised the limit or lifted the ban.
	recheck = time.Minute
	// sameReset is how much later a 429 during a wait may say that the same limit resets: it counts
	// in whole seconds.
	sameReset = 2 * time.Second
)

// queue lets calls go first come, first served, until no requests of the limit remain. Then, or
// after a 429, all calls wait for the reset.
//
// At first, and after each reset, the number of remaining requests is unknown. Then one call goes,
// and two for each response. So programs that share a key learn of each other before they send many
// requests.
type queue struct {
	maxWait time.Duration
	random  func() float64

	mu      sync.Mutex
	waiting []*turn
	timer   *time.Timer // nil before the first wait
	// unanswered is the number of calls under way. answered is the number of responses since the
	// reset. unanswered may be larger by one.
	unanswered, answered int
	lastGone             time.Time // when the last call went
	window               window
}

// turn is a call's place in the queue.
type turn struct {
	method, path string
	deadline     time.Time  // when its call, or its context, ends
	result       chan error // gets nil when the call may go, else why it can't wait
}

// window is what responses have shown of a limit, or of a ban. The zero value is unknown.
type window struct {
	// rate has the lowest Remaining seen. Calls without a response may already be subtracted.
	rate Rate
	// end is the reset by this machine's clock. until is a random time later; calls wait for it if
	// no request remains.
	end, until time.Time
	refusal    *Error // the error of a 429, or nil
	// month says that none remain in the month. On its last day the day ends with it.
	month bool
}

func (w *window) known() bool { return !w.end.IsZero() }

func (w *window) usedUp() bool { return w.known() && w.rate.Remaining == 0 }

// enter waits until a call may go; observe must be called afterwards. first puts the call at the
// head of the queue. If the reset comes too late for the call, enter returns an *Error at once. If
// the context ends during the wait, it returns the context's error.
func (q *queue) enter(ctx context.Context, t *turn, first bool) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("petstore: %w", err)
	}
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

// abandon removes a turn whose context has ended.
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
	if errors.Is(ended, context.DeadlineExceeded) {
		return fmt.Errorf("%w: waiting for other calls: %w", ErrTimeout, ended)
	}
	return fmt.Errorf("petstore: waiting for other calls: %w", ended)
}

// observe records the result of a call, and what the response shows of the limit. If there was no
// response, a is nil and err is set. entered says whether the call went through the queue.
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
			q.window.rate.Remaining-- // The request may have been counted.
		}
	case refused:
		q.refuse(e, now)
	case a.status < http.StatusInternalServerError && (q.window.refusal == nil || !now.Before(q.window.until)):
		q.see(rateOf(a.header), untilReset(a.header, now), now)
		if q.window.usedUp() && strings.Contains(a.header.Get("RateLimit"), `"month";r=0;`) {
			q.window.month = true
		}
	}
}

// refuse records a 429. One of a limit that calls wait for already changes no wait: it is the
// answer to a call that was sent before.
func (q *queue) refuse(e *Error, now time.Time) {
	if e.RetryAfter == 0 {
		return
	}
	end, refusal := now.Add(e.RetryAfter), *e // The caller may change its copy.
	if q.window.usedUp() && end.Before(q.window.until.Add(sameReset)) {
		if q.window.refusal == nil {
			q.window.refusal = &refusal
		}
		return
	}
	q.window = window{rate: Rate{Limit: e.Rate.Limit, Reset: e.Rate.Reset}, end: end, refusal: &refusal}
	q.hold(e.RetryAfter, now)
}

// see records how many requests remain, and for how long.
func (q *queue) see(r Rate, left time.Duration, now time.Time) {
	if left <= 0 || r.Limit == 0 {
		return // The response shows no limit, or its window has ended.
	}
	w := &q.window
	if !w.known() || !w.rate.Reset.Equal(r.Reset) {
		*w = window{rate: r, end: now.Add(left), until: now.Add(left)}
	} else if r.Remaining >= w.rate.Remaining {
		return // This is the response to an earlier request.
	}
	if w.rate.Remaining = r.Remaining; r.Remaining == 0 {
		q.hold(left, now)
	}
}

// hold sets the time until which calls wait. Calls that can't wait so long fail.
func (q *queue) hold(left time.Duration, now time.Time) {
	q.window.until = q.window.end.Add(jitter(left, q.random()))
	if left > q.maxWait {
		q.window.until = now.Add(min(left, recheck))
	}
	q.waiting = slices.DeleteFunc(q.waiting, q.tooLong)
}

// advance lets calls go, and sets the timer for the waiting ones. It must be called after each
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

// full reports whether the unanswered calls may use up the remaining requests.
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
	case t.deadline.Before(q.window.until):
		t.result <- q.denial(t, "its time ends before the limit resets")
	default:
		return false
	}
	return true
}

// denial returns an error like the service's, for a call that was not sent.
func (q *queue) denial(t *turn, why string) *Error {
	left := time.Until(q.window.end)
	e := Error{Status: http.StatusTooManyRequests, Code: CodeRateLimitExceeded, Rate: q.window.rate}
	switch { // Only the windows of days and months are that long.
	case left > 24*time.Hour, q.window.month:
		e.Code = CodeMonthlyQuotaExceeded
	case left > time.Minute:
		e.Code = CodeDailyQuotaExceeded
	}
	if q.window.refusal != nil {
		e = *q.window.refusal
	}
	e.Method, e.Path, e.RetryAfter = t.method, t.path, max(0, left)
	e.Message = fmt.Sprintf("Not sent: %s.", why)
	return &e
}
