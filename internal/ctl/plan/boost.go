package plan

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

func newCmdBoost(f *cmdutil.Factory) *cobra.Command {
	var (
		quota               plans.Quota
		from, until, length cmdutil.When
	)
	b := batch(f, "boosting tenants")
	b.Check = func(cmd *cobra.Command) error {
		switch {
		case quota == plans.Quota{}:
			return cmdutil.UsageErrorf("missing required flag: --per-minute or --per-day").WithHint("see: " + cmd.CommandPath() + " --help")
		case length.IsSet() && until.IsSet():
			return cmdutil.UsageErrorf("--for and --until can't be used together")
		case length.IsSet():
			until = length
		case !until.IsSet():
			return cmdutil.UsageErrorf("missing required flag: --for or --until").WithHint("a boost without an end is a plan: petstorectl plan assign")
		}
		return nil
	}
	b.Question = lowers
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, tenant string) (store.PlanChange, error) {
		return db.Timelines.Assign(ctx, by, store.NewAssignment{
			Tenant: tenant, Kind: plans.Boost, Own: &quota, From: beginning(f, from), Until: until.Until(),
		})
	}
	cmd := b.Command(&cobra.Command{
		Use:   "boost {TENANT... | --stdin} --per-minute N --for 48h",
		Short: "Boost a tenant: give it other numbers for a time",
		Long: `Give a tenant other numbers for a time. Its plan stays the same, and its numbers
come back by themselves at the end. A number that is not given stays as before.
A boost to less than before asks for confirmation; scripts need --yes.

--for is a length of time: 30m, 48h, 14d, 2w or 1mo. --until is an instant.

` + cmdutil.ItemsHelp + `

` + cmdutil.WhenHelp,
		Example: `  petstorectl plan boost acme --per-minute 1000 --for 48h --reason "their launch"
  petstorectl plan boost acme --per-minute 1000 --per-day 50000 --from 2026-11-27 --until 2026-12-01`,
	})
	cmdutil.NumberFlag(cmd, &quota.PerMinute, "per-minute", "`N` requests per minute (default: as before)")
	cmdutil.NumberFlag(cmd, &quota.PerDay, "per-day", "`N` requests per UTC day (default: as before)")
	cmdutil.LengthFlag(cmd, &length, "for", "last this `LENGTH` of time")
	cmdutil.WhenFlag(cmd, f, &until, "until", "end at `WHEN`; a length counts from the beginning")
	cmdutil.WhenFlag(cmd, f, &from, "from", "begin at `WHEN` (default: now)")
	return cmd
}

// lowers asks about boosts that give a tenant less than it has.
func lowers(_ context.Context, _ *store.DB, _ []string, done []store.PlanChange) (q cmdutil.Question, _ error) {
	var lowered []string
	for _, c := range done {
		if c.Was == nil {
			continue // It has these numbers already.
		}
		was, is := c.Was.Quota, c.At(c.Assignment.From).Quota
		if is.PerMinute < was.PerMinute || is.PerDay < was.PerDay {
			lowered = append(lowered, fmt.Sprintf("%s: %s, instead of %s", c.Tenant.Name, tenant.QuotaText(is), tenant.QuotaText(was)))
			q.Text = "Boost to less than before?"
		}
	}
	q.Facts = cmdutil.Facts(lowered, func(fact string) string { return fact })
	return q, nil
}
