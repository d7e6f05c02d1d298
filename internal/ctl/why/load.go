package why

import (
	"context"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/diagnose"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

// diagnosis is what is recorded of a key, and the verdict.
type diagnosis struct {
	diagnose.Record
	verdict diagnose.Verdict
	// today is the UTC day so far, lastDay at least the last 24 hours in whole hours.
	today, lastDay store.KeyUsage
	// changes are the latest, the newest first.
	changes []audit.Entry
	// largerPlan is the smallest plan that allows more than the tenant's, "" for none.
	largerPlan string
	// request is the refusal that was asked about, nil if a key was.
	request *usage.RefusalRecord
	// shown is how many refusals, bans and changes are printed.
	shown int
}

func load(ctx context.Context, db *store.DB, k keys.Key, shown int, now time.Time) (d *diagnosis, err error) {
	d = &diagnosis{Record: diagnose.Record{Now: now, Key: k}, shown: shown}
	if d.Tenant, err = db.Tenants.Get(ctx, k.TenantName); err != nil {
		return nil, err
	}
	midnight, hour := now.UTC().Truncate(24*time.Hour), now.UTC().Truncate(time.Hour)
	if d.today, err = db.Usage.OfKey(ctx, k.TenantID, k.ID, midnight, midnight.Add(24*time.Hour)); err != nil {
		return nil, err
	}
	if d.lastDay, err = db.Usage.OfKey(ctx, k.TenantID, k.ID, hour.Add(-24*time.Hour), hour.Add(time.Hour)); err != nil {
		return nil, err
	}
	if d.Bans, err = db.Bans.List(ctx, store.BanFilter{KeyID: k.ID, Past: true, Limit: cmdutil.MaxLimit}, now); err != nil {
		return nil, err
	}
	if d.Refusals, err = db.Refusals.OfKey(ctx, k.TenantID, k.ID, usage.RefusalsPerKey); err != nil {
		return nil, err
	}
	d.changes, err = db.Audit.List(ctx, store.AuditFilter{
		Tenant: k.TenantName, Subjects: []string{k.ID, audit.TenantSubject(k.TenantID)}, Limit: cmdutil.MaxLimit,
	})
	if err != nil {
		return nil, err
	}
	if d.largerPlan, err = largerPlan(ctx, db, d.Tenant); err != nil {
		return nil, err
	}
	d.UsedToday = d.today.TenantAdmitted
	d.verdict = d.Verdict()
	return d, nil
}

// largerPlan returns the smallest plan that allows more than the tenant's, "" if there is none.
func largerPlan(ctx context.Context, db *store.DB, t plans.Tenant) (string, error) {
	list, err := db.Plans.List(ctx)
	for _, p := range list {
		if p.Quota == nil || p.Quota.PerMinute > t.Quota.PerMinute && p.Quota.PerDay > t.Quota.PerDay {
			return p.Name, err
		}
	}
	return "", err
}

// next is what is in force when the present plan or its numbers end, the zero Tenant if nothing is scheduled.
func (d *diagnosis) next() plans.Tenant {
	if d.Tenant.Next == nil {
		return plans.Tenant{}
	}
	return *d.Tenant.Next
}

// change returns the latest change with that action, nil for none.
func (d *diagnosis) change(action string) *audit.Entry {
	for i, e := range d.changes {
		if e.Action == action {
			return &d.changes[i]
		}
	}
	return nil
}

func first[T any](n int, list []T) []T { return list[:min(n, len(list))] }
