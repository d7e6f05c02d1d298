package usage

import (
	"sync"
	"sync/atomic"
	"time"
)

// strangerBurst is how many failed requests without an existing key are kept at once; after that,
// one a second.
const strangerBurst = 100

// strangerBudget is a token bucket for failed requests of all senders without an existing key.
// While it is empty, a further request only costs the read of a number.
type strangerBudget struct {
	left atomic.Int64

	mu      sync.Mutex
	records []FailedRequest
	// refilled is the time up to which tokens were added. FailedRequests.flushing guards it.
	refilled time.Time
}

func (b *strangerBudget) begin(now time.Time) {
	b.left.Store(strangerBurst)
	b.refilled = now
}

func (b *strangerBudget) add(f FailedRequest) {
	if b.left.Load() <= 0 || b.left.Add(-1) < 0 {
		return
	}
	f = owned(f)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records = append(b.records, f)
}

// drainInto appends the records, and refills the bucket.
func (b *strangerBudget) drainInto(due []FailedRequest, now time.Time) []FailedRequest {
	if seconds := int64(now.Sub(b.refilled) / time.Second); seconds > 0 {
		b.refilled = b.refilled.Add(time.Duration(seconds) * time.Second)
		left := max(0, b.left.Load())
		b.left.Store(min(strangerBurst, left+seconds))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	due = append(due, b.records...)
	b.records = nil
	return due
}
