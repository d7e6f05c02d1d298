package tenant

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type createOptions struct {
	*cmdutil.Factory

	name  string
	plan  string
	quota *plans.Quota
	end   cmdutil.EndFlags

	profile plans.Profile
}

func newCmdCreate(f *cmdutil.Factory) *cobra.Command {
	o := &createOptions{Factory: f}
	var quota cmdutil.QuotaFlags
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "create NAME --plan PLAN",
		Short: "Create a tenant",
		Long: `Create a tenant on a plan. Its name is 1 to 63 characters of a-z, 0-9 and -, and
does not begin with -.

A trial ends by itself: with --until the tenant is on the plan --then from that
instant on, unless another plan is assigned before.

The enterprise plan requires a quota: --per-minute and --per-day.

Handing usage on to a billing system requires the tenant's ID there. It can also
be set later: tenant edit.

` + cmdutil.WhenHelp,
		Example: `  petstorectl tenant create acme --plan pro
  petstorectl tenant create acme --plan pro --until 14d --then free
  petstorectl tenant create umbrella --plan enterprise --per-minute 12345 --per-day 5000000`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := cmdutil.RequireFlags(cmd, "plan"); err != nil {
				return err
			}
			if err := o.end.CheckTrial(); err != nil {
				return err
			}
			if o.quota, err = quota.Quota(cmd); err != nil {
				return err
			}
			return runCreate(cmd.Context(), o)
		},
	}, cmdutil.Arg{Name: "NAME", Value: &o.name})
	cmd.Flags().StringVar(&o.plan, "plan", "", "the tenant's `PLAN`: see petstorectl plan list")
	cmdutil.CompleteFlagFrom(cmd, "plan", cmdutil.PlanNames(f))
	quota.Add(cmd)
	o.end.Add(cmd, f)
	profileFlags(cmd, &o.profile)
	return cmd
}

func runCreate(ctx context.Context, o *createOptions) error {
	return cmdutil.Change[plans.Tenant]{
		Subject: cmdutil.Subject{Tenant: o.name, Plan: o.plan},
		Do: func(ctx context.Context, db *store.DB, actor audit.By) (plans.Tenant, error) {
			return db.Tenants.Create(ctx, actor, store.NewTenant{
				Name: o.name, Plan: o.plan, Own: o.quota, Until: o.end.Until(), Then: o.end.Then, Profile: o.profile,
			}, time.Time{})
		},
		Notice: func(t plans.Tenant) string {
			text := fmt.Sprintf("created tenant %s on plan %s: %s", t.Name, t.Plan, QuotaText(t.Quota))
			if o.end.Then != "" {
				text += " until " + output.Text(t.Until) + ", then " + t.Next.Plan + ": " + QuotaText(t.Next.Quota)
			}
			return text
		},
		View: View,
	}.Run(ctx, o.Factory)
}
