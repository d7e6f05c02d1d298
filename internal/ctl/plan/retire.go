package plan

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type retireOptions struct {
	*cmdutil.Factory

	name   string
	from   cmdutil.When
	cancel bool
}

func newCmdRetire(f *cmdutil.Factory) *cobra.Command {
	o := &retireOptions{Factory: f}
	cmd := cmdutil.ForBilling(f.ChangeCommand(&cobra.Command{
		Use:   "retire PLAN",
		Short: "Retire a plan: assign it to nobody new",
		Long: `Retire a plan, now or from WHEN on: it is assigned to nobody new. Tenants that
are on it stay, and so do assignments to it that are scheduled already. --cancel
sells it again.

` + cmdutil.WhenHelp,
		Example: `  petstorectl plan retire starter --from 2027-01-01 --reason "replaced by basic"
  petstorectl plan retire starter --cancel`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.cancel && o.from.IsSet() {
				return cmdutil.UsageErrorf("--cancel can't be used with --from")
			}
			return runRetire(cmd.Context(), o)
		},
	}, cmdutil.PlanArg(f, &o.name)))
	cmdutil.WhenFlag(cmd, f, &o.from, "from", "`WHEN` it can no longer be assigned (default: now)")
	cmd.Flags().BoolVar(&o.cancel, "cancel", false, "sell the plan again")
	return cmd
}

func runRetire(ctx context.Context, o *retireOptions) error {
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	var done store.EditedPlan
	if o.cancel {
		done, err = db.Plans.Resell(ctx, actor, o.name)
	} else {
		done, err = db.Plans.Retire(ctx, actor, o.name, beginning(o.Factory, o.from))
	}
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Plan: o.name})
	}
	tenants, err := db.Plans.CountTenants(ctx, o.name)
	if err != nil {
		return err
	}
	switch stay := countTenants(tenants) + " " + verb(tenants, "stays", "stay") + " on it"; {
	case !done.Changed && o.cancel:
		o.Messagef("plan %s is not retired: nothing was changed", o.name)
	case !done.Changed:
		o.Messagef("plan %s already retires at %s: nothing was changed", o.name, output.Text(done.Plan.RetiresAt))
	case o.cancel:
		o.Changedf("sold plan %s again: it can be assigned", o.name)
	default:
		o.Changedf("retired plan %s%s: it is assigned to nobody new; %s", o.name, fromText(o.from, done.Plan.RetiresAt), stay)
	}
	return cmdutil.PrintChanged(o.Factory, View, done.Plan)
}
