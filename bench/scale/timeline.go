package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"petstore.example/internal/limits"
)

const (
	// interval is the resolution of a timeline, termTimeout how long it waits for a term.
	interval    = 10 * time.Millisecond
	intervals   = 12_000
	termTimeout = 90 * time.Second
)

// timeline counts admitted requests by when they were decided.
type timeline struct {
	start     time.Time
	admitted  [intervals]atomic.Int64
	undecided atomic.Int64
	slowest   atomic.Int64 // ns
	// term is the latest of which a decision was seen.
	term atomic.Int64
}

func (l *timeline) begin() { l.start = time.Now() }

func (l *timeline) now() time.Duration { return time.Since(l.start) }

// note counts a decision that took that long.
func (l *timeline) note(d *limits.Decision, took time.Duration) {
	for slowest := l.slowest.Load(); int64(took) > slowest && !l.slowest.CompareAndSwap(slowest, int64(took)); {
		slowest = l.slowest.Load()
	}
	if d.Undecided {
		l.undecided.Add(1)
		return
	}
	for latest := l.term.Load(); d.Term > latest && !l.term.CompareAndSwap(latest, d.Term); {
		latest = l.term.Load()
	}
	if at := int(l.now() / interval); d.Admitted && at < intervals {
		l.admitted[at].Add(1)
	}
}

// await waits for the first decision in a term after that number, and returns the term's number and when it was.
func (l *timeline) await(ctx context.Context, number int64) (term int64, at time.Duration, err error) {
	for end := time.Now().Add(termTimeout); l.term.Load() <= number; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil || time.Now().After(end) {
			return 0, 0, fmt.Errorf("no request was decided in a term after %d", number)
		}
	}
	return l.term.Load(), l.now(), nil
}

// rate returns how many requests per second were admitted.
func (l *timeline) rate(from, length time.Duration) (perSecond int64) {
	for i := from / interval; i < min((from+length)/interval, intervals); i++ {
		perSecond += l.admitted[i].Load()
	}
	return int64(float64(perSecond) / length.Seconds())
}

// pause returns the longest time without an admitted request.
func (l *timeline) pause(from, to time.Duration) (longest time.Duration) {
	n := time.Duration(0)
	for i := from / interval; i < min(to/interval, intervals); i++ {
		if n++; l.admitted[i].Load() > 0 {
			n = 0
		}
		longest = max(longest, n*interval)
	}
	return longest
}
