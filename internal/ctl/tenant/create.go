package tenant

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type createOptions struct {
	*cmdutil.Factory

	name  string
	plan  string
	quota *plans.Quota
}

func newCmdCreate(f *cmdutil.Factory) *cobra.Command {
	o := &createOptions{Factory: f}
	var quota cmdutil.QuotaFlags
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "create NAME --plan PLAN",
		Short: "Create a tenant",
		Long: `Create a tenant on a plan. Its name is 1 to 63 characters of a-z, 0-9 and -, and
does not begin with -.

The enterprise plan requires a quota: --per-minute and --per-day.`,
		Example: `  petstorectl tenant create acme --plan pro
  petstorectl tenant create umbrella --plan enterprise --per-minute 12345 --per-day 5000000`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := cmdutil.RequireFlags(cmd, "plan"); err != nil {
				return err
			}
			if o.quota, err = quota.Quota(cmd); err != nil {
				return err
			}
			return runCreate(cmd.Context(), o)
		},
	}, cmdutil.Arg{Name: "NAME", Value: &o.name})
	cmd.Flags().StringVar(&o.plan, "plan", "", "the tenant's `PLAN`: free, pro, business or enterprise")
	cmdutil.CompleteFlagFrom(cmd, "plan", cmdutil.PlanNames(f))
	quota.Add(cmd)
	return cmd
}

func runCreate(ctx context.Context, o *createOptions) error {
	return cmdutil.Change[plans.Tenant]{
		Subject: cmdutil.Subject{Tenant: o.name, Plan: o.plan},
		Do: func(ctx context.Context, db *store.DB, actor audit.By) (plans.Tenant, error) {
			return db.Tenants.Create(ctx, actor, store.NewTenant{Name: o.name, Plan: o.plan, Own: o.quota}, time.Time{})
		},
		Notice: func(t plans.Tenant) string {
			return fmt.Sprintf("created tenant %s on plan %s: %s", t.Name, t.Plan, QuotaText(t.Quota))
		},
		View: View,
	}.Run(ctx, o.Factory)
}
