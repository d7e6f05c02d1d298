package plan

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type unscheduleOptions struct {
	*cmdutil.Factory

	id string
}

func newCmdUnschedule(f *cmdutil.Factory) *cobra.Command {
	o := &unscheduleOptions{Factory: f}
	return f.ChangeCommand(&cobra.Command{
		Use:   "unschedule ID",
		Short: "Remove a change of a plan that has not begun",
		Long: `Remove a change of a tenant's plan that has not begun, up to 2 seconds before it
begins. The tenant is then on what it would have been on without it. If ID is
the end of something temporary, that lasts.

plan schedule lists the IDs.`,
		Example: `  petstorectl plan unschedule 17 --reason "they stay on pro"`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runUnschedule(cmd.Context(), o) },
	}, assignmentArg(&o.id))
}

// assignmentArg is the ID of an assignment.
func assignmentArg(value *string) cmdutil.Arg {
	return cmdutil.Arg{Name: "ID", Value: value, Check: func(text string) error {
		if id, err := strconv.ParseInt(text, 10, 64); err != nil || id < 1 {
			return cmdutil.UsageErrorf("%.80q is not the ID of an assignment, which is a number", text).WithHint("see: petstorectl plan schedule")
		}
		return nil
	}}
}

func runUnschedule(ctx context.Context, o *unscheduleOptions) error {
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(o.id, 10, 64)
	if err != nil {
		return err
	}
	done, err := db.Timelines.Unschedule(ctx, actor, id)
	if err != nil {
		return explain(ctx, o.Factory, err, cmdutil.Subject{Assignment: o.id})
	}
	o.Changedf("%s", unscheduled(done))
	for _, line := range consequences(done) {
		o.Messagef("%s", line)
	}
	removed := store.Coming{Tenant: done.Tenant.Name, Period: *done.Was, Until: done.Assignment.Until}
	return cmdutil.PrintChanged(o.Factory, ScheduleView, removed)
}

// unscheduled says what was removed, and what is in force instead.
func unscheduled(c store.PlanChange) string {
	a, at := c.Assignment, output.Text(c.Assignment.From)
	after := c.At(a.From)
	switch {
	case c.Lasts != nil && c.Lasts.Temporary():
		return fmt.Sprintf("removed the end at %s: tenant %s stays on plan %s until %s", at, c.Tenant.Name, periodText(after), output.Text(c.Lasts.Until))
	case c.Lasts != nil:
		return fmt.Sprintf("removed the end at %s: tenant %s stays on plan %s", at, c.Tenant.Name, periodText(after))
	case a.Kind == plans.Boost:
		return fmt.Sprintf("removed the boost at %s: tenant %s stays on plan %s", at, c.Tenant.Name, periodText(after))
	}
	return fmt.Sprintf("removed plan %s at %s: tenant %s is then on plan %s", a.Plan, at, c.Tenant.Name, periodText(after))
}
