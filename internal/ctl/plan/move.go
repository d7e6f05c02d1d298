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
	"petstore.example/internal/store/pricing"
)

func newCmdMove(f *cmdutil.Factory) *cobra.Command {
	var all bool
	c := &cmdutil.Change[[]plans.Tenant]{Factory: f}
	c.Check = func(cmd *cobra.Command) error {
		switch named := len(cmd.Flags().Args()) > 1; {
		case all && named:
			return cmdutil.UsageErrorf("--all can't be used with a tenant")
		case !all && !named:
			return cmdutil.UsageErrorf("missing argument: TENANT, or --all").WithHint("usage: " + cmd.UseLine())
		}
		return nil
	}
	cmd := c.Command(&cobra.Command{
		Use:   "move PLAN {TENANT... | --all}",
		Short: "Move tenants to the latest version of their plan",
		Long: `Move tenants that kept the numbers of an earlier version ("plan edit
--keep-existing") to the version of the plan that is the latest now. They follow
its later versions too. "plan show" has how many tenants are on each version.

A tenant whose plan ends by itself, as a trial or a boost, is not moved.

Tenants are moved by the hundred. If the command is interrupted, repeat it. To
take all of it back, give "undo" the numbers that this command prints: without
one, undo takes back the last hundred.`,
		Example: `  petstorectl plan move pro acme zoo --reason "agreed on 3 December"
  petstorectl plan move pro --all --dry-run`,
	}, cmdutil.PlanArg(f, &c.Subject.Plan), cmdutil.TenantArg(f, new(string)).Repeated())
	cmd.Flags().BoolVar(&all, "all", false, "move all tenants on earlier versions of the plan")
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) ([]plans.Tenant, error) {
		if _, err := db.Plans.Get(ctx, c.Subject.Plan); err != nil {
			return nil, err
		}
		ids, err := toMove(ctx, f, db, c.Subject.Plan, cmd.Flags().Args()[1:])
		if err != nil {
			return nil, err
		}
		return move(ctx, f, db, by, c.Subject.Plan, ids)
	}
	c.Explain = explainNumbers(c)
	c.Unchanged = func(moved []plans.Tenant) bool { return len(moved) == 0 }
	c.Notice = func(moved []plans.Tenant) string {
		if len(moved) == 0 {
			return "no tenant to move"
		}
		return fmt.Sprintf(
			"moved %s to version %d of plan %s: %s",
			countTenants(int64(len(moved))),
			moved[0].Version,
			c.Subject.Plan,
			tenant.QuotaText(moved[0].Quota),
		)
	}
	c.Print = func(_ context.Context, _ *store.DB, moved []plans.Tenant) error {
		return cmdutil.PrintChangedList(f, tenant.View, moved)
	}
	return cmdutil.SetColumns(cmd, tenant.View.Names())
}

// toMove returns the numbers of the tenants to move, and says which are not moved.
func toMove(ctx context.Context, f *cmdutil.Factory, db *store.DB, plan string, tenants []string) ([]int64, error) {
	var named []int64
	for _, name := range tenants {
		t, err := db.Tenants.Get(ctx, name)
		if err != nil {
			return nil, f.Explain(ctx, err, cmdutil.Subject{Tenant: name})
		}
		if t.Plan != plan {
			return nil, cmdutil.RefusedErrorf("tenant %s is on plan %s, not %s", name, t.Plan, plan).
				WithHint(fmt.Sprintf("see: petstorectl plan assign %s %s --help", name, plan))
		}
		named = append(named, t.ID)
	}
	list, err := db.Plans.Grandfathered(ctx, plan, named)
	if err != nil {
		return nil, err
	}
	var ids []int64
	found := map[int64]bool{}
	for _, g := range list {
		found[g.Tenant.ID] = true
		if g.Temporary {
			f.Messagef("tenant %s is not moved: what it has now ends by itself", g.Tenant.Name)
			continue
		}
		ids = append(ids, g.Tenant.ID)
	}
	for i, id := range named {
		if !found[id] {
			f.Messagef("tenant %s follows the latest version of plan %s already", tenants[i], plan)
		}
	}
	return ids, nil
}

func move(
	ctx context.Context,
	f *cmdutil.Factory,
	db *store.DB,
	by audit.By,
	plan string,
	ids []int64,
) (all []plans.Tenant, err error) {
	for len(ids) > 0 {
		n := min(len(ids), pricing.MaxMoved)
		moved, err := db.Plans.Move(ctx, by, plan, ids[:n])
		if err != nil {
			if len(all) > 0 {
				f.Messagef("moved %s before that", countTenants(int64(len(all))))
			}
			return all, err
		}
		all, ids = append(all, moved...), ids[n:]
	}
	return all, nil
}
