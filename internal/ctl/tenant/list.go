package tenant

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type listOptions struct {
	*cmdutil.Factory

	filter   store.TenantFilter
	status   string
	inactive time.Time
	list     cmdutil.ListFlags
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List tenants by name",
		Long: `List tenants by name: those to which all filters apply.

` + cmdutil.PastHelp,
		Example: `  petstorectl tenant list --plan pro --status suspended
  petstorectl tenant list --search acme
  petstorectl tenant list --inactive 30d -o csv`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), o) },
	})
	cmd.Flags().StringVar(&o.filter.Plan, "plan", "", "only those on this `PLAN` now")
	cmdutil.CompleteFlagFrom(cmd, "plan", cmdutil.PlanNames(f))
	cmdutil.EnumFlag(cmd, &o.status, "status", "", "only one `STATUS`: active, suspended or erased", "active", "suspended", "erased")
	cmdutil.TextFlag(cmd, &o.filter.Search, "search", "find `TEXT` in name, e-mail or billing reference", cmdutil.MaxSearch)
	cmdutil.PastFlag(cmd, f, &o.inactive, "inactive", "only those without a request since `WHEN`")
	cmd.Flags().BoolVar(&o.filter.WithoutBillingRef, "without-billing-ref", false, "only those without a billing reference")
	o.list.Add(cmd, cmdutil.DefaultLimit)
	o.list.AddAfter(cmd, "the tenant `NAME`")
	return cmd
}

func runList(ctx context.Context, o *listOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	filter := o.filter
	filter.InactiveSince, filter.After, filter.Limit = o.inactive, o.list.After, o.list.Query(o.Factory)
	switch o.status {
	case "":
	case "erased":
		filter.Erased = true
	default:
		suspended := o.status == "suspended"
		filter.Suspended = &suspended
	}
	empty := "no tenants yet: petstorectl tenant create NAME --plan PLAN"
	if o.list.Filtered("plan", "status", "search", "inactive", "without-billing-ref") {
		empty = "no tenant matches"
	}
	err = cmdutil.PrintStream(o.Factory, View, db.Tenants.List(ctx, filter), &o.list, func(t plans.Tenant) string { return t.Name }, empty)
	return o.Explain(ctx, err, cmdutil.Subject{Plan: filter.Plan})
}
