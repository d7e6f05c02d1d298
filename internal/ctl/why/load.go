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
	"petstore.example/internal/store/billing"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/usage"
)

// diagnosis is what is recorded about a key, with the verdict.
type diagnosis struct {
	diagnose.Record
	verdict diagnose.Verdict
	// nextBan is how long the next automatic ban would last, if the key is banned.
	nextBan time.Duration
	// silent is how many servers ended silently in this month, and margin what counts as used because
	// of them, if the month refuses before it is used up.
	silent, margin int64
	// today is the UTC day so far. lastDay is at least the last 24 hours, in whole hours.
	today, lastDay billing.KeyUsage
	// changes are the latest changes, the newest first. The tenant's changes are apart, because
	// they are the same for all of its keys.
	changes, tenantChanges []audit.Entry
	// seen is set if somebody has seen the whole key.
	seen bool
	// plans are in the order of the price list, the smaller first.
	plans []plans.Plan
}

// span is a period of whole hours, because usage is recorded by the hour.
type span struct{ from, to time.Time }

// today is the UTC day, lastDay at least the last 24 hours.
func today(now time.Time) span {
	midnight := now.UTC().Truncate(24 * time.Hour)
	return span{midnight, midnight.Add(24 * time.Hour)}
}

func lastDay(now time.Time) span {
	hour := now.UTC().Truncate(time.Hour)
	return span{hour.Add(-24 * time.Hour), hour.Add(time.Hour)}
}

func loadKey(ctx context.Context, db *store.DB, k keys.Key, now time.Time) (d *diagnosis, err error) {
	d = &diagnosis{Record: diagnose.Record{Now: now, Key: k}}
	if d.Tenant, err = db.Tenants.Get(ctx, k.TenantName); err != nil {
		return nil, err
	}
	for of, u := range map[span]*billing.KeyUsage{today(now): &d.today, lastDay(now): &d.lastDay} {
		if *u, err = db.Usage.OfKey(ctx, k.TenantID, k.ID, of.from, of.to); err != nil {
			return nil, err
		}
	}
	if d.Bans, err = store.Collect(
		db.Bans.List(ctx, tenancy.BanFilter{KeyID: k.ID, Past: true, Limit: cmdutil.MaxLimit}, now),
	); err != nil {
		return nil, err
	}
	if d.Failed, err = db.FailedRequests.OfKey(ctx, k.TenantID, k.ID, cmdutil.MaxLimit); err != nil {
		return nil, err
	}
	if d.TenantRefusal, err = db.FailedRequests.LatestRefusal(ctx, k.TenantID); err != nil {
		return nil, err
	}
	d.changes, err = store.Collect(db.Audit.List(ctx, trail.Filter{
		Tenant: k.TenantName, Subjects: []string{k.ID, audit.TenantSubject(k.TenantID)}, Limit: cmdutil.MaxLimit,
	}))
	if err != nil {
		return nil, err
	}
	if d.plans, err = db.Plans.List(ctx); err != nil {
		return nil, err
	}
	d.UsedToday = d.today.TenantAdmitted
	if d.Month, err = loadMonth(ctx, db, &d.Tenant, now); err != nil {
		return nil, err
	}
	return d, d.conclude(ctx, db)
}

// loadMonth returns the periods of the present month of a tenant that has one.
func loadMonth(ctx context.Context, db *store.DB, t *plans.Tenant, now time.Time) (m usage.Month, err error) {
	if t.Quota.Month.Kind == plans.SomeMonth {
		m.Periods, err = db.Usage.MonthPeriods(ctx, t.ID, usage.MonthStart(now), now)
	}
	return m, err
}

// conclude draws the verdict from the record.
func (d *diagnosis) conclude(ctx context.Context, db *store.DB) (err error) {
	d.verdict = d.Verdict()
	if d.Ban() != nil {
		d.nextBan, err = db.Bans.NextBan(ctx, d.Key.ID, d.Now)
	}
	if v := d.verdict; err == nil && v.Reason == diagnose.Partial && v.Code == diagnose.MonthlyQuotaExceeded {
		d.silent, d.margin, err = db.Limits.MonthMargin(ctx, d.Tenant.ID, usage.MonthStart(d.Now))
	}
	return err
}

// change returns the latest change with that action, nil for none.
func (d *diagnosis) change(action string) *audit.Entry {
	for _, list := range [][]audit.Entry{d.changes, d.tenantChanges} {
		for i, e := range list {
			if e.Action == action {
				return &list[i]
			}
		}
	}
	return nil
}

// tenantDiagnosis is what is recorded about a tenant.
type tenantDiagnosis struct {
	now    time.Time
	tenant plans.Tenant
	// If hidden is set, the login may not read keys and their requests, and there are none here.
	hidden bool
	// keys are the relevant keys, the refused ones first. left is the number of other keys: revoked
	// or expired, and without a recent failed request.
	keys []*diagnosis
	left int
	// failed are the latest failed requests of all keys, the newest first.
	failed  []usage.FailedRequest
	changes []audit.Entry
	today   int64
	month   usage.Month
	refused int64
}

const day = 24 * time.Hour

func loadTenant(ctx context.Context, db *store.DB, t plans.Tenant, now time.Time) (d *tenantDiagnosis, err error) {
	d = &tenantDiagnosis{now: now, tenant: t}
	usages := map[span]map[string]billing.KeyUsage{today(now): nil, lastDay(now): nil}
	for of := range usages {
		if usages[of], err = db.Usage.OfKeys(ctx, t.ID, of.from, of.to); err != nil {
			return nil, err
		}
	}
	d.sum(usages[today(now)], usages[lastDay(now)])
	if d.month, err = loadMonth(ctx, db, &t, now); err != nil {
		return nil, err
	}
	list, err := store.Collect(db.Keys.List(ctx, tenancy.KeyFilter{Tenant: t.Name, Limit: cmdutil.MaxLimit}, now))
	if d.hidden = store.IsForbidden(err); d.hidden {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if d.failed, err = db.FailedRequests.OfTenant(ctx, t.ID, now.Add(-day), cmdutil.MaxLimit); err != nil {
		return nil, err
	}
	if d.changes, err = store.Collect(
		db.Audit.List(ctx, trail.Filter{Tenant: t.Name, Limit: cmdutil.MaxLimit}),
	); err != nil {
		return nil, err
	}
	bans, err := store.Collect(
		db.Bans.List(ctx, tenancy.BanFilter{Tenant: t.Name, Past: true, Limit: cmdutil.MaxLimit}, now),
	)
	if err != nil {
		return nil, err
	}
	priceList, err := db.Plans.List(ctx)
	if err != nil {
		return nil, err
	}
	shared := d.sharedRefusal()
	bansOf := bySubject(bans, func(b keys.Ban) string { return b.KeyID })
	failedOf := bySubject(d.failed, func(f usage.FailedRequest) string { return f.KeyID })
	changes := bySubject(d.changes, func(e audit.Entry) string { return e.Subject })
	for _, k := range list {
		one := &diagnosis{
			Record: diagnose.Record{
				Now: now, Key: k, Tenant: t, UsedToday: d.today, Month: d.month, TenantRefusal: shared,
				Bans: bansOf[k.ID], Failed: failedOf[k.ID],
			},
			today: usages[today(now)][k.ID], lastDay: usages[lastDay(now)][k.ID], plans: priceList,
			changes: changes[k.ID], tenantChanges: changes[audit.TenantSubject(t.ID)],
		}
		if err := one.conclude(ctx, db); err != nil {
			return nil, err
		}
		d.add(one)
	}
	d.sort()
	return d, nil
}

func (d *tenantDiagnosis) sum(today, lastDay map[string]billing.KeyUsage) {
	for _, u := range today {
		d.today += u.Admitted
	}
	for _, u := range lastDay {
		d.refused += u.Refused
	}
}

// sharedRefusal is the latest refusal by a limit that all keys share, nil for none.
func (d *tenantDiagnosis) sharedRefusal() *usage.FailedRequest {
	for i := range d.failed {
		if f := &d.failed[i]; diagnose.IsShared(f) {
			return f
		}
	}
	return nil
}

// bySubject groups items by subject, and keeps their order.
func bySubject[T any](list []T, subjectOf func(T) string) map[string][]T {
	of := make(map[string][]T)
	for _, item := range list {
		subject := subjectOf(item)
		of[subject] = append(of[subject], item)
	}
	return of
}
