package plan

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type scheduleOptions struct {
	*cmdutil.Factory

	tenant string
	after  int64
	list   cmdutil.ListFlags
}

func newCmdSchedule(f *cmdutil.Factory) *cobra.Command {
	o := &scheduleOptions{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:   "schedule",
		Short: "List changes of plans that are to come",
		Long: `List the changes of a tenant's plan and numbers that are to come, in order of
time. Without a tenant, list the assignments of all tenants. What changes with a
version of a plan is then left out.`,
		Example: `  petstorectl plan schedule --tenant acme
  petstorectl plan schedule`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSchedule(cmd.Context(), o) },
	})
	cmdutil.TenantFlag(cmd, f, &o.tenant)
	o.list.Add(cmd, cmdutil.DefaultLimit)
	o.list.AddAfterNumber(cmd, &o.after, "the assignment with this `ID`")
	return cmd
}

// ScheduleView shows what is in force from an instant on: an assignment with its ID, or a version of the plan.
var ScheduleView = output.View[store.Coming]{
	{Name: "id", Heading: "ASSIGNMENT", Value: func(c store.Coming) any { return assignmentID(c) }, InList: true},
	{Name: "tenant", Value: func(c store.Coming) any { return c.Tenant }, InList: true, MinWidth: output.TextWidth},
	{Name: "at", Value: func(c store.Coming) any { return c.From }, InList: true},
	{Name: "kind", Value: func(c store.Coming) any { return kind(c) }, InList: true, MinWidth: output.TextWidth},
	{Name: "plan", Value: func(c store.Coming) any { return c.Plan }, InList: true, MinWidth: output.TextWidth},
	{Name: "per_minute", Heading: "PER MIN", Value: func(c store.Coming) any { return c.Quota.PerMinute }, InList: true},
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
	// People compare these times with contracts: they are not relative to now.
	view := ScheduleView
	if o.Printer().Format == "table" {
		view = view.FormatTimes(minuteLayout)
	}
	list := db.Timelines.Schedule(ctx, o.tenant, o.after, o.list.Query(o.Factory))
	err = cmdutil.PrintStream(o.Factory, view, list, &o.list, cursor, "no changes of plans are scheduled")
	return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant, Assignment: strconv.FormatInt(o.after, 10)})
}

// cursor is the value of --after: a version has none.
func cursor(c store.Coming) string {
	if c.Version() {
		return ""
	}
	return strconv.FormatInt(c.Assignment, 10)
}

// minuteLayout leaves room for the other columns of a terminal.
const minuteLayout = "2006-01-02 15:04Z"
