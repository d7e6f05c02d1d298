// Package limits holds the commands about what tenants have used of their limits.
package limits

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
)

// NewCmd returns the command limits.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("limits,limit", "Manage what tenants have used of their limits", newCmdReset(f))
}

// View shows a reset.
var View = output.View[admin.LimitsReset]{
	{Name: "tenant", Value: func(r admin.LimitsReset) any { return r.Tenant }},
	{Name: "day_used", Value: func(r admin.LimitsReset) any { return r.DayUsed }},
	{Name: "month_used", Value: func(r admin.LimitsReset) any { return r.MonthUsed }},
}

func newCmdReset(f *cmdutil.Factory) *cobra.Command {
	c := &cmdutil.Change[admin.LimitsReset]{Factory: f, View: View}
	c.Question = func(_ context.Context, _ *store.DB, r admin.LimitsReset) (cmdutil.Question, error) {
		return cmdutil.Question{
			Text: fmt.Sprintf("Reset the limits of tenant %s to its recorded usage?", r.Tenant),
		}, nil
	}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (admin.LimitsReset, error) {
		return db.Limits.Reset(ctx, by, c.Subject.Tenant)
	}
	c.Notice = func(r admin.LimitsReset) string {
		if r.InMemory {
			return fmt.Sprintf(
				"reset the limits of tenant %s in the database; the only server counts in its memory: restart it",
				r.Tenant,
			)
		}
		text := fmt.Sprintf(
			"reset the limits of tenant %s: %s used today",
			r.Tenant,
			output.Count(r.DayUsed, "request"),
		)
		if r.MonthUsed != nil {
			text += fmt.Sprintf(", %d in this month", *r.MonthUsed)
		}
		return text
	}
	return cmdutil.ForOwner(c.Command(&cobra.Command{
		Use:   "reset TENANT",
		Short: "Reset a tenant's limits: to what is recorded",
		Long: `Reset a tenant's limits after the clock of Postgres was wrong. All servers
begin a new term. In it the minute, the day and the month of this tenant, and
of all others, are the present ones by Postgres's clock, with the usage that
is recorded. The running total of this tenant's month is summed anew.

A server without Redis counts in its memory: restart it instead.

The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl limits reset acme --reason "clock of db1 was a day ahead" --yes`,
	}, cmdutil.TenantArg(f, &c.Subject.Tenant)))
}
