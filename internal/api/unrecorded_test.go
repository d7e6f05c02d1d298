package api

import (
	"context"
	"errors"
	"testing"
	"time"

	"petstore.example/internal/limits"
)

// shared decides as a limiter that servers share. Its first decisions, that many, are of a term
// that has ended since.
type shared struct {
	limits.Limiter
	over int
}

func (l *shared) Take(ctx context.Context, c limits.Claim, now time.Time) limits.Decision {
	d := l.Limiter.Take(ctx, c, now)
	d.Term = 1
	return d
}

func (l *shared) InForce(*limits.Decision) bool {
	l.over--
	return l.over < 0
}

// TestUnrecordedRequest: a request that must be recorded first waits for that, and is given back
// with 503 if it can't be.
func TestUnrecordedRequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *Config) { c.Limiter = &shared{Limiter: c.Limiter} })
	w.meter.full = true
	r := w.request("GET", "/v1/pets", "")
	if rec := w.do(r); rec.Code != 200 || w.meter.flushed != 1 || w.meter.refunded != 0 {
		t.Errorf("%d, %d writes, %d refunds", rec.Code, w.meter.flushed, w.meter.refunded)
	}
	w.meter.err = errors.New("broken")
	rec := w.do(r)
	if code := checkAnswer(
		t,
		r,
		rec,
	); code != "unavailable" || header(rec, "Retry-After") != "1" ||
		header(rec, "X-RateLimit-Remaining") != "59" {
		t.Errorf("%d %s %v", rec.Code, rec.Body, rec.Header())
	}
	if w.meter.admitted != 2 || w.meter.refunded != 1 {
		t.Errorf("admitted %d, refunded %d", w.meter.admitted, w.meter.refunded)
	}
}

// TestTermEndsBeforeTheRecord: a request whose term has ended before it was noted is decided again,
// and not for ever.
func TestTermEndsBeforeTheRecord(t *testing.T) {
	t.Parallel()
	for over, want := range map[int]int{0: 200, 1: 200, 2: 200, 3: 503} {
		w := newFixture(t, func(c *Config) { c.Limiter = &shared{Limiter: c.Limiter, over: over} })
		if rec := w.do(w.request("GET", "/v1/pets", "")); rec.Code != want || w.meter.refunded != over {
			t.Errorf("after %d: %d, %d refunds, want %d", over, rec.Code, w.meter.refunded, want)
		}
	}
}
