package usage

import (
	"context"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// monthTTL is how long a month is cached: as long as usage takes to be recorded.
	monthTTL = FlushInterval
	// maxMonths is the most cached months, at 1.3 kB each. When it is reached, all are dropped.
	maxMonths = 4_000
)

// Months returns the tenants' usage of this month. It queries the store at most twice a second for
// a tenant, because these requests are free and must not become a load. It is safe for concurrent
// use.
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

// NewMonths returns the months in the store.
func NewMonths(store MonthStore) *Months {
	return &Months{store: store, cached: map[int64]cachedMonth{}}
}

// Get returns the month at now. It is shared: treat it as read-only. It returns ErrUnavailable if
// the store is down.
func (m *Months) Get(ctx context.Context, tenantID int64, now time.Time) (Month, error) {
	if k, ok := m.find(tenantID); ok && k.fresh(now) {
		return k.Month, nil
	}
	found, err, _ := m.loads.Do(strconv.FormatInt(tenantID, 10), func() (any, error) {
		// Other requests wait for the query too. The store bounds its time.
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

// fresh reports whether the month is valid at now. A new hour begins a new rate window, and maybe a
// new day.
func (k cachedMonth) fresh(now time.Time) bool {
	age := now.Sub(k.at)
	return age >= 0 && age < monthTTL && RateWindowStart(k.at).Equal(RateWindowStart(now))
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
