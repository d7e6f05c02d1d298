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

type moveOptions struct {
	*cmdutil.Factory

	plan    string
	tenants []string
	all     bool
}

func newCmdMove(f *cmdutil.Factory) *cobra.Command {
	o := &moveOptions{Factory: f}
	cmd := f.ChangeCommand(&cobra.Command{
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
		RunE: func(cmd *cobra.Command, args []string) error {
			o.tenants = args[1:]
			switch {
			case o.all && len(o.tenants) > 0:
				return cmdutil.UsageErrorf("--all can't be used with a tenant")
			case !o.all && len(o.tenants) == 0:
				return cmdutil.UsageErrorf("missing argument: TENANT, or --all").WithHint("usage: " + cmd.UseLine())
			}
			return runMove(cmd.Context(), o)
		},
	}, cmdutil.PlanArg(f, &o.plan), cmdutil.TenantArg(f, new(string)).Repeated())
	cmd.Flags().BoolVar(&o.all, "all", false, "move all tenants on earlier versions of the plan")
	return cmd
}

func runMove(ctx context.Context, o *moveOptions) error {
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	if _, err := db.Plans.Get(ctx, o.plan); err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Plan: o.plan})
	}
	ids, err := o.find(ctx, db)
	if err != nil {
		return err
	}
	moved, err := o.move(ctx, db, actor, ids)
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Plan: o.plan})
	}
	if len(moved) == 0 {
		o.Messagef("no tenant to move: nothing was changed")
		return cmdutil.PrintList(o.Factory, tenant.View, moved)
	}
	to := moved[0]
	o.Changedf("moved %s to version %d of plan %s: %s", countTenants(int64(len(moved))), to.Version, o.plan, tenant.QuotaText(to.Quota))
	return cmdutil.PrintChangedList(o.Factory, tenant.View, moved)
}

// find returns the numbers of the tenants to move, and says which are not moved.
func (o *moveOptions) find(ctx context.Context, db *store.DB) ([]int64, error) {
	var named []int64
	for _, name := range o.tenants {
		t, err := db.Tenants.Get(ctx, name)
		if err != nil {
			return nil, o.Explain(ctx, err, cmdutil.Subject{Tenant: name})
		}
		if t.Plan != o.plan {
			return nil, &cmdutil.Error{
				Code: cmdutil.ExitRefused, Message: fmt.Sprintf("tenant %s is on plan %s, not %s", name, t.Plan, o.plan),
				Hint: fmt.Sprintf("see: petstorectl plan assign %s %s --help", name, o.plan),
			}
		}
		named = append(named, t.ID)
	}
	list, err := db.Plans.Grandfathered(ctx, o.plan, named)
	if err != nil {
		return nil, err
	}
	var ids []int64
	found := map[int64]bool{}
	for _, g := range list {
		found[g.Tenant.ID] = true
		if g.Temporary {
			o.Messagef("tenant %s is not moved: what it has now ends by itself", g.Tenant.Name)
			continue
		}
		ids = append(ids, g.Tenant.ID)
	}
	for i, id := range named {
		if !found[id] {
			o.Messagef("tenant %s follows the latest version of plan %s already", o.tenants[i], o.plan)
		}
	}
	return ids, nil
}

func (o *moveOptions) move(ctx context.Context, db *store.DB, actor audit.By, ids []int64) (all []plans.Tenant, err error) {
	for len(ids) > 0 {
		n := min(len(ids), store.MaxMoved)
		moved, err := db.Plans.Move(ctx, actor, o.plan, ids[:n])
		if err != nil {
			if len(all) > 0 {
				o.Messagef("moved %s before that", countTenants(int64(len(all))))
			}
			return all, err
		}
		all, ids = append(all, moved...), ids[n:]
	}
	return all, nil
}
