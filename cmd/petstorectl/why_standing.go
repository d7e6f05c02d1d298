package main

import (
	"context"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

// standing is all that is known of a caller at an instant.
type standing struct {
	now    time.Time
	key    keys.Key
	tenant plans.Tenant
	// today is the UTC day so far, lastDay at least the last 24 hours in whole hours.
	today, lastDay store.KeyUsage
	// bans, refusals and changes are the latest of each, the newest first.
	bans     []keys.Ban
	refusals []usage.RefusalRecord
	changes  []audit.Entry
	// larger is the smallest plan that allows more than the tenant's, "" for none.
	larger string
	// request is the refusal that was asked about, nil when the key was.
	request *usage.RefusalRecord
	// shown is how many refusals, bans and changes are printed.
	shown int
}

func standingOf(ctx context.Context, db *store.DB, k keys.Key, shown int, now time.Time) (s standing, err error) {
	s = standing{now: now, key: k, shown: shown}
	if s.tenant, err = db.Tenants.Get(ctx, k.TenantName); err != nil {
		return s, err
	}
	midnight, hour := now.UTC().Truncate(day), now.UTC().Truncate(time.Hour)
	if s.today, err = db.Usage.OfKey(ctx, k.TenantID, k.ID, midnight, midnight.Add(day)); err != nil {
		return s, err
	}
	if s.lastDay, err = db.Usage.OfKey(ctx, k.TenantID, k.ID, hour.Add(-day), hour.Add(time.Hour)); err != nil {
		return s, err
	}
	if s.bans, err = db.Bans.List(ctx, store.BanFilter{KeyID: k.ID, Past: true, Limit: maxLimit}, now); err != nil {
		return s, err
	}
	if s.refusals, err = db.Refusals.OfKey(ctx, k.TenantID, k.ID, usage.RefusalsPerKey); err != nil {
		return s, err
	}
	s.changes, err = db.Audit.List(ctx, store.AuditFilter{
		Tenant: k.TenantName, Subjects: []string{k.ID, k.TenantName}, Limit: maxLimit,
	})
	if err != nil {
		return s, err
	}
	s.larger, err = largerPlan(ctx, db, s.tenant)
	return s, err
}

// largerPlan returns the smallest plan that allows more than the tenant now may, "" when it has the last.
func largerPlan(ctx context.Context, db *store.DB, t plans.Tenant) (string, error) {
	list, err := db.Plans.List(ctx)
	for _, p := range list {
		if p.Quota == nil || p.Quota.PerMinute > t.Quota.PerMinute && p.Quota.PerDay > t.Quota.PerDay {
			return p.Name, err
		}
	}
	return "", err
}

// ban is the one in force that ends last, nil for none.
func (s standing) ban() *keys.Ban {
	var last *keys.Ban
	for i, b := range s.bans {
		if banStatus(b, s.now) == "in force" && (last == nil || b.EndsAt.After(last.EndsAt)) {
			last = &s.bans[i]
		}
	}
	return last
}

// automaticBans is how many count for the length of the next.
func (s standing) automaticBans() (n int) {
	for _, b := range s.bans {
		if b.Source == keys.Automatic && b.LiftedAt.IsZero() && b.StartsAt.After(s.now.Add(-keys.RepeatPeriod)) {
			n++
		}
	}
	return n
}

// strikes is about how many refusals of late bring the next ban nearer. Servers count them exactly.
func (s standing) strikes() (n int64) {
	since := s.now.Add(-keys.StrikePeriod)
	if len(s.bans) > 0 && s.bans[0].Source == keys.Automatic && s.bans[0].StartsAt.After(since) {
		since = s.bans[0].StartsAt
	}
	for _, r := range s.refusals {
		if r.Window != "" && !r.Partial && r.At.After(since) {
			n += 1 + r.Suppressed
		}
	}
	return n
}

// change returns the latest change of that kind, nil for none.
func (s standing) change(action string) *audit.Entry {
	for i, e := range s.changes {
		if e.Action == action {
			return &s.changes[i]
		}
	}
	return nil
}

// refusing is the latest refusal while the window that refused has not reset and its limit is still the same, nil for none.
func (s standing) refusing() *usage.RefusalRecord {
	if len(s.refusals) == 0 {
		return nil
	}
	limits := map[string]int64{
		string(plans.Minute): s.tenant.Quota.PerMinute, string(plans.Day): s.tenant.Quota.PerDay, string(plans.Key): s.key.PerMinute,
	}
	r := &s.refusals[0]
	if limit, ok := limits[r.Window]; ok && (limit == r.Limit || r.Partial) && s.now.Unix() < r.Reset {
		return r
	}
	return nil
}

// dayEnd is when the day's counter resets.
func (s standing) dayEnd() time.Time { return s.now.UTC().Truncate(day).Add(day) }
