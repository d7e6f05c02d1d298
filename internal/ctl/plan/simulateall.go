package plan

import (
	"context"
	"fmt"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

// namedReplay is the replay of a tenant, with its name.
type namedReplay struct {
	usage.ReplayedTenant
	name string
}

// AllView shows a tenant of a simulation of all.
var AllView = output.View[namedReplay]{
	{Name: "tenant_id", Value: func(r namedReplay) any { return r.TenantID }},
	{Name: "tenant", Value: func(r namedReplay) any { return r.name }, InList: true, MinWidth: output.TextWidth},
	{Name: "requests", Value: func(r namedReplay) any { return r.Requests }, InList: true},
	{Name: "refused_then", Value: func(r namedReplay) any { return r.Refused }, InList: true},
	{Name: "refused_at_least", Value: func(r namedReplay) any { return r.ByDay + r.ByMinute }, InList: true},
	{Name: "by_day", Value: func(r namedReplay) any { return r.ByDay }},
	{Name: "by_minute_at_least", Value: func(r namedReplay) any { return r.ByMinute }},
	{Name: "more_at_least", Heading: "MORE", Value: func(r namedReplay) any { return r.More }, InList: true},
	{Name: "days_with_more", Heading: "ON DAYS", Value: func(r namedReplay) any { return r.DaysMore }, InList: true},
}

func runSimulateAll(ctx context.Context, o *simulateOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	quota, err := o.resolve(ctx, db)
	if err != nil {
		return err
	}
	replay, err := replayTenants(ctx, db, o.period, quota, nil)
	if err != nil {
		return err
	}
	affected := replay.Affected()
	o.Messagef("%s, %s:\n%s", o.limits(quota), o.period.Days(), replayText(replay, affected))
	if rows := o.list.Query(o.Factory); rows > 0 {
		affected = affected[:min(len(affected), rows)]
	}
	rows, err := nameReplays(ctx, db, affected)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return cmdutil.PrintList(o.Factory, AllView, rows)
	}
	return cmdutil.PrintStream(o.Factory, AllView, cmdutil.Items(rows), &o.list, nil, "")
}

// replayTenants replays what is recorded of these tenants, or of all for nil.
func replayTenants(ctx context.Context, db *store.DB, p cmdutil.Period, q plans.Quota, tenants []int64) (*usage.TenantsReplay, error) {
	replay := usage.NewTenantsReplay(q.PerMinute, q.PerDay)
	return replay, db.Usage.EachDay(ctx, store.DaysQuery{From: p.From, To: p.To, Tenants: tenants, Quiet: usage.QuietHour(q.PerMinute)}, replay.Add)
}

func nameReplays(ctx context.Context, db *store.DB, list []usage.ReplayedTenant) ([]namedReplay, error) {
	ids := make([]int64, len(list))
	for i, r := range list {
		ids[i] = r.TenantID
	}
	names, err := db.Tenants.NamesOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	named := make([]namedReplay, len(list))
	for i, r := range list {
		named[i] = namedReplay{r, names[r.TenantID]}
	}
	return named, nil
}

// replayText is the sum of a replay in words.
func replayText(r *usage.TenantsReplay, affected []usage.ReplayedTenant) string {
	sum, tenants := r.Sum()
	if tenants == 0 {
		return "no requests are recorded"
	}
	n := output.Thousands
	text := fmt.Sprintf("at least %s of %s requests of %s would have been refused; %s were refused",
		n(sum.ByDay+sum.ByMinute), n(sum.Requests), countTenants(tenants), n(sum.Refused))
	if len(affected) == 0 {
		return text + "\nno tenant would have been refused more than it was"
	}
	return text + fmt.Sprintf("\n%s would have been refused more than %s: at least %s requests in all",
		countTenants(int64(len(affected))), verb(int64(len(affected)), "it was", "they were"), n(sum.More))
}

// countTenants is how many tenants in words.
func countTenants(n int64) string {
	switch n {
	case 0:
		return "no tenants"
	case 1:
		return "1 tenant"
	}
	return output.Thousands(n) + " tenants"
}
