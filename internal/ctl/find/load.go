package find

import (
	"context"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

const (
	// The most rows of a screen, and of JSON.
	maxKeys, maxFailed = 10, 10
)

// result is what a word names and, if one match is certain, what there is to know about it.
type result struct {
	now  time.Time
	word string
	hits []store.Hit

	// hit is the certain match, nil if there are several.
	hit *store.Hit
	// tenant is nil for a match without one.
	tenant *plans.Tenant
	// today is the usage of the UTC day.
	today store.KeyUsage
	// keys are nil if the login may not read them. allKeys is how many the tenant has.
	keys    []keys.Key
	allKeys int
	failed  []usage.FailedRequest
}

func (r *result) load(ctx context.Context, db *store.DB, hit store.Hit) error {
	r.hit = &hit
	if hit.Tenant == "" {
		return nil
	}
	t, err := db.Tenants.Get(ctx, hit.Tenant)
	if err != nil {
		return err
	}
	r.tenant = &t
	midnight := r.now.UTC().Truncate(24 * time.Hour)
	if r.today, err = db.Usage.OfKey(ctx, t.ID, "", midnight, midnight.Add(24*time.Hour)); err != nil {
		return err
	}
	r.keys, r.allKeys, err = db.Keys.Summary(ctx, t.ID, hit.KeyID, maxKeys, r.now)
	if store.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return err
	}
	r.failed, err = db.FailedRequests.OfTenant(ctx, t.ID, r.now.Add(-24*time.Hour), maxFailed)
	return err
}

// banned returns the keys on which a ban is in force: they come first.
func (r *result) banned() (banned []keys.Key) {
	for _, k := range r.keys {
		if k.Ban.InForce(r.now) {
			banned = append(banned, k)
		}
	}
	return banned
}
