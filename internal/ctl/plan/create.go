package plan

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type createOptions struct {
	*cmdutil.Factory

	plan store.NewPlan
	from cmdutil.When
}

func newCmdCreate(f *cmdutil.Factory) *cobra.Command {
	o := &createOptions{Factory: f}
	var numbers numberFlags
	cmd := cmdutil.ForBilling(f.ChangeCommand(&cobra.Command{
		Use:   "create NAME [--per-minute N --per-day N]",
		Short: "Create a plan",
		Long: `Create a plan. Its name is 1 to 63 characters of a-z, 0-9 and -, and does not
begin with -. Its numbers are version 1 of the plan.

The quota of a plan without numbers is agreed with each tenant, as that of the
enterprise plan.

` + cmdutil.WhenHelp,
		Example: `  petstorectl plan create starter --per-minute 120 --per-day 3000 --title Starter --price "9 EUR a month"
  petstorectl plan create partner --title "For resellers"`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.plan.Quota, err = numbers.quota(cmd); err != nil {
				return err
			}
			return runCreate(cmd.Context(), o)
		},
	}, cmdutil.Arg{Name: "NAME", Value: &o.plan.Name}))
	numbers.add(cmd)
	cmdutil.TextFlag(cmd, &o.plan.Title, "title", "`TEXT` that customers know the plan by", maxText)
	cmdutil.TextFlag(cmd, &o.plan.Price, "price", "`TEXT` for the price list", maxText)
	cmdutil.WhenFlag(cmd, f, &o.from, "from", "`WHEN` it can be assigned first (default: now)")
	return cmd
}

// maxText is the most characters of a title or a price.
const maxText = 100

func runCreate(ctx context.Context, o *createOptions) error {
	o.plan.From = beginning(o.Factory, o.from)
	return cmdutil.Change[store.EditedPlan]{
		Subject: cmdutil.Subject{Plan: o.plan.Name},
		Do: func(ctx context.Context, db *store.DB, actor audit.By) (store.EditedPlan, error) {
			return db.Plans.Create(ctx, actor, o.plan)
		},
		Notice: func(c store.EditedPlan) string {
			text := fmt.Sprintf("created plan %s: ", c.Plan.Name)
			if c.Version.Quota == nil {
				text += "its quota is agreed with each tenant"
			} else {
				text += tenant.QuotaText(*c.Version.Quota)
			}
			return text + fromText(o.from, c.Version.From)
		},
		View: output.Map(View, planOf),
	}.Run(ctx, o.Factory)
}

func planOf(c store.EditedPlan) plans.Plan { return c.Plan }

// fromText names the instant from which a change holds, unless that is now.
func fromText(w cmdutil.When, at time.Time) string {
	if w.IsNow() {
		return ""
	}
	return ", from " + output.Text(at) + " on"
}
