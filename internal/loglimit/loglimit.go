package loglimit

import (
	"sync"
	"sync/atomic"
	"time"
)

// Period is the time in which at most one line of a kind is written.
const Period = time.Second

// Limiter limits the lines of each kind. It forgets no kind, so there must be few.
type Limiter[Kind comparable] struct {
	// report writes a line with the number of suppressed lines, if no other line does.
	report func(of Kind, suppressed int64)
	start  time.Time
	kinds  sync.Map // of *kind by Kind
}

// kind counts the lines of one kind.
type kind struct {
	// last is when a line was last written, in nanoseconds since the Limiter's start; negative for
	// never.
	last       atomic.Int64
	suppressed atomic.Int64
}

// New returns a Limiter. It calls report from a goroutine of its own.
func New[Kind comparable](report func(of Kind, suppressed int64)) *Limiter[Kind] {
	return &Limiter[Kind]{report: report, start: time.Now()}
}

// Allow reports whether a line of that kind may be written now, and how many were suppressed since
// the last one.
func (l *Limiter[Kind]) Allow(of Kind) (ok bool, suppressed int64) {
	k := l.kind(of)
	if l.begins(k) {
		return true, k.suppressed.Swap(0)
	}
	if k.suppressed.Add(1) == 1 {
		time.AfterFunc(2*Period, func() { l.reportLate(of, k) })
	}
	return false, 0
}

func (l *Limiter[Kind]) kind(of Kind) *kind {
	if k, ok := l.kinds.Load(of); ok {
		return k.(*kind)
	}
	k := &kind{}
	k.last.Store(-1)
	first, _ := l.kinds.LoadOrStore(of, k)
	return first.(*kind)
}

// begins reports whether the line that the caller is about to write begins a new period.
func (l *Limiter[Kind]) begins(k *kind) bool {
	now, last := int64(time.Since(l.start)), k.last.Load()
	return (last < 0 || now-last >= int64(Period)) && k.last.CompareAndSwap(last, now)
}

// reportLate reports the count that no line has reported in time. If a line has been written a
// moment ago, it took the count; lines suppressed since then have a timer of their own.
func (l *Limiter[Kind]) reportLate(of Kind, k *kind) {
	if k.suppressed.Load() == 0 || !l.begins(k) {
		return
	}
	if n := k.suppressed.Swap(0); n > 0 {
		l.report(of, n)
	}
}
