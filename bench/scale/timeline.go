package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"petstore.example/bench/limitcluster"
	"petstore.example/internal/limits"
)

const (
	// interval is the resolution of a timeline, termTimeout how long to wait for a term.
	interval    = 10 * time.Millisecond
	intervals   = 12_000
	termTimeout = 90 * time.Second
)

// timeline sends requests for random tenants at random servers, and counts admitted requests by
// when they were decided.
type timeline struct {
	start   time.Time
	stop    func()
	callers errgroup.Group

	mu        sync.Mutex
	admitted  [intervals]int64
	undecided int64
	slowest   time.Duration
	term      int64 // the latest of which a decision was seen
}

func startTimeline(ctx context.Context, all []*limitcluster.Server, tenants int) *timeline {
	l := &timeline{start: time.Now()}
	ctx, l.stop = context.WithCancel(ctx)
	for range changeCallers {
		l.callers.Go(func() error {
			ticks := time.NewTicker(time.Second * changeCallers / changeRate)
			defer ticks.Stop()
			for ctx.Err() == nil {
				now := <-ticks.C
				d := all[rand.IntN(len(all))].Take(ctx, unlimited(rand.Int64N(int64(tenants))+1), now)
				l.note(&d, time.Since(now))
			}
			return nil
		})
	}
	return l
}

func (l *timeline) now() time.Duration { return time.Since(l.start) }

// note counts a decision that took that long.
func (l *timeline) note(d *limits.Decision, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, took)
	if d.Undecided {
		l.undecided++
		return
	}
	l.term = max(l.term, d.Term)
	if at := l.now() / interval; d.Admitted && at < intervals {
		l.admitted[at]++
	}
}

func (l *timeline) latestTerm() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term
}

// await waits for the first decision in a term after that number, and returns the term's number and
// when it was.
func (l *timeline) await(ctx context.Context, number int64) (term int64, at time.Duration, err error) {
	for end := time.Now().Add(termTimeout); l.latestTerm() <= number; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil || time.Now().After(end) {
			return 0, 0, fmt.Errorf("no request was decided in a term after %d", number)
		}
	}
	return l.latestTerm(), l.now(), nil
}

// rate returns how many requests per second were admitted.
func (l *timeline) rate(from, length time.Duration) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := int64(0)
	for _, n := range l.admitted[min(from/interval, intervals):min((from+length)/interval, intervals)] {
		sum += n
	}
	return int64(float64(sum) / length.Seconds())
}

// pause returns the longest time without an admitted request.
func (l *timeline) pause(from, to time.Duration) (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pause := time.Duration(0)
	for _, n := range l.admitted[min(from/interval, intervals):min(to/interval, intervals)] {
		if pause += interval; n > 0 {
			pause = 0
		}
		longest = max(longest, pause)
	}
	return longest
}
