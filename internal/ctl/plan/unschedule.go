package plan

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

func newCmdUnschedule(f *cmdutil.Factory) *cobra.Command {
	b := &cmdutil.Batch[store.PlanChange]{
		Factory: f, Item: assignmentArg(nil), Noun: "changes", Doing: "removing changes", Lock: lockAssignments,
		Do: func(ctx context.Context, db *store.DB, by audit.By, text string) (done store.PlanChange, err error) {
			id, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return done, err
			}
			return db.Timelines.Unschedule(ctx, by, id)
		},
		Explain: func(ctx context.Context, err error, id string) error {
			return explain(ctx, f, err, cmdutil.Subject{Assignment: id})
		},
		Notice: func(c store.PlanChange) cmdutil.Notice {
			return cmdutil.Notice{Text: unscheduled(c), More: consequences(c)}
		},
		View: func(time.Time) output.View[store.PlanChange] {
			return output.Map(ScheduleView, func(c store.PlanChange) store.Coming {
				return store.Coming{Tenant: c.Tenant.Name, Period: *c.Was, Until: c.Assignment.Until}
			})
		},
	}
	return b.Command(&cobra.Command{
		Use:   "unschedule {ID... | --stdin}",
		Short: "Remove a change of a plan that has not begun",
		Long: `Remove a change of a tenant's plan that has not begun, up to 2 seconds before it
begins. The tenant is then on what it would have been on without it. If ID is
the end of something temporary, that lasts.

plan schedule lists the IDs, in the column ASSIGNMENT.

` + cmdutil.ItemsHelp,
		Example: `  petstorectl plan unschedule 17 --reason "they stay on pro"`,
	})
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

// lockAssignments locks the tenants of assignments.
func lockAssignments(ctx context.Context, db *store.DB, ids []string) error {
	if len(ids) == 1 {
		return nil // Unschedule locks its tenant.
	}
	tenants, err := db.Timelines.TenantsOf(ctx, ids)
	if err != nil {
		return err
	}
	return db.Lock(ctx, tenants, nil)
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
