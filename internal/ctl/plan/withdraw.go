package plan

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type withdrawOptions struct {
	*cmdutil.Factory

	name, number string
	version      int
}

func newCmdWithdraw(f *cmdutil.Factory) *cobra.Command {
	o := &withdrawOptions{Factory: f}
	return cmdutil.ForBilling(f.ChangeCommand(&cobra.Command{
		Use:   "withdraw PLAN [VERSION]",
		Short: "Withdraw a version of a plan before it begins",
		Long: `Withdraw the last version of a plan before it begins, up to two seconds before.
With a number the command fails if another version is the last.

A version that has begun stays: edit the plan again. To take back a retirement,
use "plan retire --cancel".`,
		Example: `  petstorectl plan withdraw pro
  petstorectl plan withdraw pro 3 --reason "the price list changed again"`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.number != "" {
				if o.version, err = strconv.Atoi(o.number); err != nil || o.version < 1 {
					return cmdutil.UsageErrorf("%.20q is not the number of a version such as 3", o.number).WithHint("see: petstorectl plan show " + o.name)
				}
			}
			return runWithdraw(cmd.Context(), o)
		},
	}, cmdutil.PlanArg(f, &o.name), cmdutil.Arg{Name: "[VERSION]", Value: &o.number}))
}

func runWithdraw(ctx context.Context, o *withdrawOptions) error {
	return cmdutil.Change[store.EditedPlan]{
		Subject: cmdutil.Subject{Plan: o.name},
		Do: func(ctx context.Context, db *store.DB, actor audit.By) (store.EditedPlan, error) {
			return db.Plans.Withdraw(ctx, actor, o.name, o.version)
		},
		Notice: func(c store.EditedPlan) string {
			return fmt.Sprintf("canceled version %d of plan %s, which was to begin at %s", c.Version.Number, c.Plan.Name, output.Text(c.Version.From))
		},
		View: output.Map(View, planOf),
	}.Run(ctx, o.Factory)
}
