package limitstest

import (
	"context"
	"maps"
	"sync"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

// CounterStore is a counter.Store in memory, with the same rules as the one in Postgres.
type CounterStore struct {
	// Term returns the term in force, or the zero Term if there is none. Calls return its error.
	Term func() (counter.Term, error)
	// Recorded returns what is recorded for a claim's tenant. If it is nil, nothing is recorded.
	Recorded func(c *limits.Claim, w counter.Wanted) counter.Recorded

	mu   sync.Mutex
	rows map[rowKey]counter.Row
}

var _ counter.Store = (*CounterStore)(nil)

// rowKey names a row. If the key is empty, the row is the tenant's own.
type rowKey struct {
	tenantID int64
	keyID    string
}

// Row returns the row of a tenant, or of one of its keys.
func (s *CounterStore) Row(tenantID int64, keyID string) counter.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[rowKey{tenantID, keyID}]
}

// Save returns a function that restores the rows as they are now.
func (s *CounterStore) Save() (setBack func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	saved := maps.Clone(s.rows)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rows = maps.Clone(saved)
	}
}

// Initialize implements counter.Store.
func (s *CounterStore) Initialize(
	_ context.Context,
	r counter.InitRequest,
) (base counter.Baseline, fresh bool, err error) {
	err = s.apply(r.TenantID, limitedKey(&r.Claim), func(t counter.Term, g counter.Rows) (counter.Rows, error) {
		var err error
		g, base, fresh, err = g.Initialized(t, r, s.recorded(t, g, &r.Claim, r.At))
		return g, err
	})
	return base, fresh, err
}

// Grant implements counter.Store.
func (s *CounterStore) Grant(_ context.Context, r counter.GrantRequest) (grant counter.Grant, err error) {
	err = s.apply(r.TenantID, limitedKey(&r.Claim), func(t counter.Term, g counter.Rows) (counter.Rows, error) {
		var err error
		g, grant, err = g.Granted(t, r, s.recorded(t, g, &r.Claim, r.At))
		return g, err
	})
	return grant, err
}

// limitedKey returns the key whose row belongs to the claim, "" for none.
func limitedKey(c *limits.Claim) string {
	if c.KeyPerMinute > 0 {
		return c.KeyID
	}
	return ""
}

func (s *CounterStore) recorded(t counter.Term, g counter.Rows, c *limits.Claim, at time.Time) counter.Recorded {
	w, needs := g.NeedsRecorded(t, c, at)
	if s.Recorded == nil || !needs {
		return counter.Recorded{Minute: w.Minute, Day: w.Day, Month: w.Month}
	}
	return s.Recorded(c, w)
}

// apply changes the rows of a tenant and a key by a rule.
func (s *CounterStore) apply(
	tenantID int64,
	keyID string,
	rule func(counter.Term, counter.Rows) (counter.Rows, error),
) error {
	t, err := s.Term()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows = map[rowKey]counter.Row{}
	}
	tenant, key := rowKey{tenantID: tenantID}, rowKey{tenantID, keyID}
	g := counter.Rows{Tenant: s.rows[tenant]}
	if keyID != "" {
		g.Key = s.rows[key]
	}
	if g, err = rule(t, g); err != nil {
		return err
	}
	s.rows[tenant] = g.Tenant
	if keyID != "" {
		s.rows[key] = g.Key
	}
	return nil
}
