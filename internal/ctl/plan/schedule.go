package plan

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type scheduleOptions struct {
	*cmdutil.Factory

	tenant string
	limit  int
}

func newCmdSchedule(f *cmdutil.Factory) *cobra.Command {
	o := &scheduleOptions{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:   "schedule [TENANT]",
		Short: "List changes of plans that are to come",
		Long: `List the changes of a tenant's plan and numbers that are to come, in order of
time. Without a tenant, list the assignments of all tenants. What changes with a
version of a plan is then left out.`,
		Example: `  petstorectl plan schedule acme
  petstorectl plan schedule`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSchedule(cmd.Context(), o) },
	}, cmdutil.TenantArg(f, &o.tenant).Optional())
	cmdutil.LimitFlag(cmd, &o.limit, cmdutil.DefaultLimit)
	return cmd
}

// ScheduleView shows what is in force from an instant on: an assignment with its ID, or a version of the plan.
var ScheduleView = output.View[store.Coming]{
	{Name: "id", Value: func(c store.Coming) any { return assignmentID(c) }, InList: true},
	{Name: "tenant", Value: func(c store.Coming) any { return c.Tenant }, InList: true, MinWidth: output.TextWidth},
	{Name: "at", Value: func(c store.Coming) any { return c.From }, InList: true},
	{Name: "kind", Value: func(c store.Coming) any { return kind(c) }, InList: true},
	{Name: "plan", Value: func(c store.Coming) any { return c.Plan }, InList: true},
	{Name: "per_minute", Value: func(c store.Coming) any { return c.Quota.PerMinute }, InList: true},
	{Name: "per_day", Value: func(c store.Coming) any { return c.Quota.PerDay }, InList: true},
	{Name: "until", Value: func(c store.Coming) any { return c.Until }},
}

func assignmentID(c store.Coming) *int64 {
	if c.Version() {
		return nil
	}
	return &c.Assignment
}

// kind is the assignment's, or version.
func kind(c store.Coming) string {
	if c.Version() {
		return "version"
	}
	return string(c.Kind)
}

func runSchedule(ctx context.Context, o *scheduleOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	list, err := db.Timelines.Schedule(ctx, o.tenant, o.limit+1)
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant})
	}
	// People compare these times with contracts.
	view := ScheduleView
	if o.Printer().Format == "table" {
		view = view.FormatTimes(instantLayout)
	}
	return cmdutil.PrintLimited(o.Factory, view, list, o.limit, "no changes of plans are scheduled")
}

// instantLayout is RFC 3339 without what is always the same.
const instantLayout = "2006-01-02T15:04:05Z"
