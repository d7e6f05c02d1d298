package plan

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/pricing"
)

func newCmdHistory(f *cmdutil.Factory) *cobra.Command {
	l := &cmdutil.List[pricing.HistoryPeriod]{Factory: f, All: true}
	var months bool
	l.Rows = func(ctx context.Context, db *store.DB, _ int) (iter.Seq2[pricing.HistoryPeriod, error], error) {
		periods, err := db.Timelines.History(ctx, l.Subject.Tenant)
		months = slices.ContainsFunc(periods, func(p pricing.HistoryPeriod) bool {
			return p.Quota.Month.Kind == plans.SomeMonth
		})
		return cmdutil.Items(periods), err
	}
	l.View = func() output.View[pricing.HistoryPeriod] { return HistoryView }
	l.Table = func() output.View[pricing.HistoryPeriod] {
		if !months {
			return tableOfHistory(HistoryView)
		}
		return tenant.ShowMonth(tableOfHistory(HistoryView), monthOfPeriod)
	}
	return l.Command(&cobra.Command{
		Use:   "history TENANT",
		Short: "Show which plan and quota a tenant had, has and will have",
		Long: `Show which plan and quota a tenant had, has and will have: a row for each time
in which they do not change, the earliest first. A period begins with an
assignment to the tenant or with a version of its plan.

The login that made the change is always known. The claimed actor and the reason
are in the audit trail: they are empty for logins that may not read it.`,
		Example: `  petstorectl plan history acme
  petstorectl plan history acme -o csv`,
	}, cmdutil.TenantArg(f, &l.Subject.Tenant))
}

func monthOfPeriod(p pricing.HistoryPeriod) plans.Month { return p.Quota.Month }

// HistoryView shows a period.
var HistoryView = output.View[pricing.HistoryPeriod]{
	{Name: "from", Value: func(p pricing.HistoryPeriod) any { return p.From }, InList: true},
	{Name: "to", Value: func(p pricing.HistoryPeriod) any { return p.To }, InList: true},
	{Name: "plan", Value: func(p pricing.HistoryPeriod) any { return p.Plan }, InList: true},
	{
		Name:    "version",
		Heading: "V",
		Value:   func(p pricing.HistoryPeriod) any { return int64(p.Version) },
		InList:  true,
		Spare:   2,
	},
	{Name: "kind", Value: func(p pricing.HistoryPeriod) any { return string(p.Kind) }},
	{Name: "per_minute", Value: func(p pricing.HistoryPeriod) any { return p.Quota.PerMinute }, InList: true, Spare: 1},
	{Name: "per_day", Value: func(p pricing.HistoryPeriod) any { return p.Quota.PerDay }, InList: true},
	tenant.PerMonth("per_month", monthOfPeriod),
	tenant.Overage("overage", monthOfPeriod),
	{Name: "assignment", Value: func(p pricing.HistoryPeriod) any { return p.Assignment }},
	{Name: "made_at", Value: func(p pricing.HistoryPeriod) any { return p.CreatedAt }},
	{Name: "login", Value: func(p pricing.HistoryPeriod) any { return p.CreatedBy }},
	{Name: "claimed_actor", Value: func(p pricing.HistoryPeriod) any { return p.ClaimedActor }},
	{
		Name:     "reason",
		Value:    func(p pricing.HistoryPeriod) any { return p.Reason },
		InList:   true,
		MinWidth: output.TextWidth,
	},
	{Name: "voided_at", Value: func(p pricing.HistoryPeriod) any { return p.VoidedAt }},
	{Name: "void_reason", Value: func(p pricing.HistoryPeriod) any { return p.VoidReason }},
}

// tableOfHistory shows the IDs of assignments, which plan void takes, in place of the ends: a
// period ends when the next one begins. A void assignment shows why it is void in place of its
// reason.
func tableOfHistory(v output.View[pricing.HistoryPeriod]) output.View[pricing.HistoryPeriod] {
	return v.FormatTimes(minuteLayout).Show("assignment").Hide("to").With("reason", func(p pricing.HistoryPeriod) any {
		if !p.VoidedAt.IsZero() {
			return "void: " + p.VoidReason
		}
		return p.Reason
	})
}

func newCmdSchedule(f *cmdutil.Factory) *cobra.Command {
	var after int64
	l := &cmdutil.List[pricing.Coming]{
		Factory: f,
		After:   cursor,
		Empty:   "no changes of plans are scheduled",
		NoMatch: "no changes of plans are scheduled",
	}
	l.Rows = func(ctx context.Context, db *store.DB, limit int) (iter.Seq2[pricing.Coming, error], error) {
		l.Subject.Assignment = strconv.FormatInt(after, 10)
		return db.Timelines.Schedule(ctx, l.Subject.Tenant, after, limit), nil
	}
	l.View = func() output.View[pricing.Coming] { return ScheduleView }
	// People compare these times with contracts, so they are not relative to now.
	l.Table = func() output.View[pricing.Coming] { return ScheduleView.FormatTimes(minuteLayout) }
	cmd := l.Command(&cobra.Command{
		Use:   "schedule",
		Short: "List changes of plans that are to come",
		Long: `List the changes of a tenant's plan and numbers that are to come, in order of
time. Without a tenant, list the assignments of all tenants. Changes by a
version of a plan are then left out.`,
		Example: `  petstorectl plan schedule --tenant acme
  petstorectl plan schedule`,
	})
	cmdutil.TenantFlag(cmd, f, &l.Subject.Tenant)
	cmdutil.NumberFlag(cmd, &after, "after", "begin after the assignment with this `ID`")
	return cmd
}

// ScheduleView shows what is in force from an instant on: an assignment with its ID, or a version
// of the plan.
var ScheduleView = output.View[pricing.Coming]{
	{Name: "id", Heading: "ASSIGNMENT", Value: func(c pricing.Coming) any { return assignmentID(c) }, InList: true},
	{Name: "tenant", Value: func(c pricing.Coming) any { return c.Tenant }, InList: true, MinWidth: output.TextWidth},
	{Name: "at", Value: func(c pricing.Coming) any { return c.From }, InList: true},
	{Name: "kind", Value: func(c pricing.Coming) any { return kind(c) }, InList: true, MinWidth: output.TextWidth},
	{Name: "plan", Value: func(c pricing.Coming) any { return c.Plan }, InList: true, MinWidth: output.TextWidth},
	{
		Name:    "per_minute",
		Heading: "PER MIN",
		Value:   func(c pricing.Coming) any { return c.Quota.PerMinute },
		InList:  true,
	},
	{Name: "per_day", Value: func(c pricing.Coming) any { return c.Quota.PerDay }, InList: true},
	tenant.PerMonth("per_month", func(c pricing.Coming) plans.Month { return c.Quota.Month }),
	tenant.Overage("overage", func(c pricing.Coming) plans.Month { return c.Quota.Month }),
	{Name: "until", Value: func(c pricing.Coming) any { return c.Until }},
}

func assignmentID(c pricing.Coming) *int64 {
	if c.Version() {
		return nil
	}
	return &c.Assignment
}

// kind is the assignment's kind, or version.
func kind(c pricing.Coming) string {
	if c.Version() {
		return "version"
	}
	return string(c.Kind)
}

// cursor is the value of --after. A version has none.
func cursor(c pricing.Coming) string {
	if c.Version() {
		return ""
	}
	return strconv.FormatInt(c.Assignment, 10)
}

// minuteLayout leaves room for the other columns of a terminal.
const minuteLayout = "2006-01-02 15:04Z"

func newCmdUnschedule(f *cmdutil.Factory) *cobra.Command {
	b := &cmdutil.Batch[pricing.PlanChange]{
		Factory: f, Item: assignmentArg(nil), Noun: "changes", Doing: "removing changes", Lock: lockAssignments,
		Do: func(ctx context.Context, db *store.DB, by audit.By, text string) (done pricing.PlanChange, err error) {
			id, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return done, err
			}
			return db.Timelines.Unschedule(ctx, by, id)
		},
		Explain: func(ctx context.Context, err error, id string) error {
			return explain(ctx, f, err, cmdutil.Subject{Assignment: id})
		},
		Notice: func(c pricing.PlanChange) cmdutil.Notice {
			return cmdutil.Notice{Text: unscheduled(c), More: consequences(c)}
		},
		Question: endless,
		View: func(time.Time) output.View[pricing.PlanChange] {
			return output.Map(ScheduleView, func(c pricing.PlanChange) pricing.Coming {
				return pricing.Coming{Tenant: c.Tenant.Name, Period: *c.Was, Until: c.Assignment.Until}
			})
		},
	}
	return b.Command(&cobra.Command{
		Use:   "unschedule {ID... | --stdin}",
		Short: "Remove a change of a plan that has not begun",
		Long: `Remove a change of a tenant's plan that has not begun, up to 2 seconds before it
begins. The tenant is then on what it would have been on without it. If ID is
the end of a temporary assignment, that assignment lasts: the command asks for
confirmation, and scripts need --yes.

plan schedule lists the IDs, in the column ASSIGNMENT.

` + cmdutil.ItemsHelp,
		Example: `  petstorectl plan unschedule 17 --reason "they stay on pro"`,
	})
}

// assignmentArg is the ID of an assignment.
func assignmentArg(value *string) cmdutil.Arg {
	return cmdutil.Arg{Name: "ID", Value: value, Check: func(text string) error {
		if id, err := strconv.ParseInt(text, 10, 64); err != nil || id < 1 {
			return cmdutil.UsageErrorf(
				"%.80q is not the ID of an assignment, which is a number",
				text,
			).WithHint("see: petstorectl plan schedule")
		}
		return nil
	}}
}

// lockAssignments locks the tenants of assignments.
func lockAssignments(ctx context.Context, db *store.DB, ids []string) error {
	if len(ids) == 1 {
		return nil // Unschedule itself locks the only tenant.
	}
	tenants, err := db.Timelines.TenantsOf(ctx, ids)
	if err != nil {
		return err
	}
	return db.Lock(ctx, tenants, nil)
}

// endless asks about removed ends: the assignments that they would have ended continue.
func endless(_ context.Context, _ *store.DB, _ []string, done []pricing.PlanChange) (q cmdutil.Question, _ error) {
	var lasting []string
	for _, c := range done {
		if c.Lasts != nil {
			lasting = append(lasting, "without the end at "+output.Text(c.Assignment.From)+" "+lasts(c))
			q.Text = "Let it last?"
		}
	}
	q.Facts = cmdutil.Facts(lasting, func(fact string) string { return fact })
	return q, nil
}

// lasts says what a tenant stays on, and until when.
func lasts(c pricing.PlanChange) string {
	text := fmt.Sprintf("tenant %s stays on plan %s", c.Tenant.Name, periodText(c.At(c.Assignment.From)))
	if c.Lasts != nil && c.Lasts.Temporary() {
		text += " until " + output.Text(c.Lasts.Until)
	}
	return text
}

// unscheduled says what was removed, and what is in force instead.
func unscheduled(c pricing.PlanChange) string {
	a, at := c.Assignment, output.Text(c.Assignment.From)
	switch {
	case c.Lasts != nil:
		return "removed the end at " + at + ": " + lasts(c)
	case a.Kind == plans.Boost:
		return "removed the boost at " + at + ": " + lasts(c)
	}
	return fmt.Sprintf(
		"removed plan %s at %s: tenant %s is then on plan %s",
		a.Plan,
		at,
		c.Tenant.Name,
		periodText(c.At(a.From)),
	)
}

func newCmdVoid(f *cmdutil.Factory) *cobra.Command {
	var undo bool
	c := &cmdutil.Change[pricing.Coming]{Factory: f, View: VoidView, Requires: []string{"reason"}}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (done pricing.Coming, err error) {
		id, err := strconv.ParseInt(c.Subject.Assignment, 10, 64)
		if err != nil {
			return done, err
		}
		return db.Timelines.Void(ctx, by, id, undo)
	}
	c.Notice = func(c pricing.Coming) string {
		assignment := fmt.Sprintf(
			"assignment %d of tenant %s: plan %s from %s",
			c.Assignment,
			c.Tenant,
			c.Plan,
			output.Text(c.From),
		)
		if undo {
			return "removed the mark void of " + assignment
		}
		return "marked as void " + assignment
	}
	cmd := cmdutil.ForBilling(c.Command(&cobra.Command{
		Use:   "void ID --reason TEXT",
		Short: "Mark an assignment as void: it was made by mistake",
		Long: `Mark an assignment that has begun as void, because it was made by mistake. It
stays in the history, with the mark and the reason. Decisions under it stand:
assign the right plan. Exports and events take its requests back, in the first
open month if theirs is closed.

plan history lists the IDs, in the column ASSIGNMENT.`,
		Example: `  petstorectl plan void 17 --reason "meant for tenant zoo"
  petstorectl plan void 17 --undo --reason "17 was right, 18 was not"`,
	}, assignmentArg(&c.Subject.Assignment)))
	cmd.Flags().BoolVar(&undo, "undo", false, "remove the mark")
	return cmd
}

// VoidView shows an assignment and its mark.
var VoidView = append(ScheduleView[:len(ScheduleView):len(ScheduleView)],
	output.Column[pricing.Coming]{Name: "voided_at", Value: func(c pricing.Coming) any { return c.VoidedAt }},
	output.Column[pricing.Coming]{Name: "void_reason", Value: func(c pricing.Coming) any { return c.VoidReason }},
)
