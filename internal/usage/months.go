package usage

import (
	"context"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// monthAge is how long a month is told again without asking the store: no longer than usage takes to be recorded.
	monthAge = FlushInterval
	// maxMonths is how many are held at most, 1.3 kB each; then all are forgotten.
	maxMonths = 4_000
)

// Months tells what tenants used this month. However often a tenant asks, its store is asked once in half a second, and
// once for all who ask meanwhile: asking is free, and must not become a load. It is safe for concurrent use.
type Months struct {
	store MonthStore
	loads singleflight.Group

	mu     sync.Mutex
	cached map[int64]cachedMonth
}

type cachedMonth struct {
	Month
	at time.Time
}

// NewMonths returns Months of what the store has recorded.
func NewMonths(store MonthStore) *Months {
	return &Months{store: store, cached: map[int64]cachedMonth{}}
}

// Get returns the month of now, which is shared: treat it as read-only. It returns ErrUnavailable when the store is.
func (m *Months) Get(ctx context.Context, tenantID int64, now time.Time) (Month, error) {
	if k, ok := m.find(tenantID); ok && k.serves(now) {
		return k.Month, nil
	}
	found, err, _ := m.loads.Do(strconv.FormatInt(tenantID, 10), func() (any, error) {
		// Others wait for it too. The store bounds its time itself.
		month, err := m.store.UsageMonth(context.WithoutCancel(ctx), tenantID, now)
		if err == nil {
			m.keep(tenantID, cachedMonth{month, now})
		}
		return month, err
	})
	if err != nil {
		return Month{}, err
	}
	return found.(Month), nil
}

// serves tells whether the month is good for now. At a full hour another time counts as recent, and at midnight another day
// has come.
func (k cachedMonth) serves(now time.Time) bool {
	age := now.Sub(k.at)
	return age >= 0 && age < monthAge && RateWindowStart(k.at).Equal(RateWindowStart(now))
}

func (m *Months) find(tenantID int64) (cachedMonth, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.cached[tenantID]
	return k, ok
}

func (m *Months) keep(tenantID int64, k cachedMonth) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.cached) >= maxMonths {
		clear(m.cached)
	}
	m.cached[tenantID] = k
}
