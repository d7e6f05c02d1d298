package plan

import (
	"context"
	"time"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

const (
	// impactDays are the days before today whose usage is replayed, with that of today.
	impactDays = 30
	// impactTenants is how many tenants are named.
	impactTenants = 10
)

// impact is what a new version would do, by the usage of the last days.
type impact struct {
	plan    plans.Plan
	version plans.Version
	moving  int64
	period  cmdutil.Period
	replay  *usage.TenantsReplay
	// affected are all tenants of which more would have been refused, most the first of them.
	affected []usage.ReplayedTenant
	most     []namedReplay
}

// ImpactView shows what an edit would do.
var ImpactView = append(
	output.Map(View, func(i impact) plans.Plan { return i.plan }),
	output.Column[impact]{Name: "new_version", Value: func(i impact) any { return int64(i.version.Number) }},
	output.Column[impact]{Name: "new_from", Value: func(i impact) any { return i.version.From }},
	output.Column[impact]{Name: "new_per_minute", Value: func(i impact) any { return i.version.Quota.PerMinute }},
	output.Column[impact]{Name: "new_per_day", Value: func(i impact) any { return i.version.Quota.PerDay }},
	output.Column[impact]{Name: "tenants_moving", Value: func(i impact) any { return i.moving }},
	output.Column[impact]{Name: "tenants_refused_more", Value: func(i impact) any { return int64(len(i.affected)) }},
	output.Column[impact]{Name: "more_at_least", Value: func(i impact) any { sum, _ := i.replay.Sum(); return sum.More }},
	output.Column[impact]{Name: "most_affected", Value: func(i impact) any { return output.ListJSON(AllView, i.most) }},
)

// printImpact replays the last days' usage of the tenants that move, and prints the change with what it would do.
func printImpact(ctx context.Context, f *cmdutil.Factory, db *store.DB, done store.EditedPlan) error {
	i := impact{plan: done.Plan, version: *done.Version, replay: usage.NewTenantsReplay(0, 0)}
	today := f.Now().Truncate(24 * time.Hour)
	i.period = cmdutil.Period{From: today.AddDate(0, 0, -impactDays), To: today.AddDate(0, 0, 1)}
	if !done.KeepExisting && len(done.Followers) > 0 {
		var err error
		i.moving = int64(len(done.Followers))
		if i.replay, err = replayTenants(ctx, db, i.period, *i.version.Quota, done.Followers); err != nil {
			return err
		}
		i.affected = i.replay.Affected()
		if i.most, err = nameReplays(ctx, db, i.affected[:min(len(i.affected), impactTenants)]); err != nil {
			return err
		}
		f.Messagef("by the usage of %s:\n%s", i.period.Days(), replayText(i.replay, i.affected))
	}
	p := f.Printer()
	if p.Whole() {
		return output.Item(p, ImpactView, i)
	}
	if p.Format != "" && len(i.most) == 0 {
		return nil
	}
	return printBelow(p, AllView, AllView, i.most)
}
