// Package tenant holds the commands about tenants.
package tenant

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/store/tenancy"
)

// NewCmd returns the command tenant.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("tenant,tenants", "Manage tenants",
		newCmdCreate(f), newCmdList(f), newCmdShow(f),
		newCmdEdit(f), newCmdInvite(f), newCmdSuspend(f), newCmdResume(f),
		newCmdExport(f), newCmdErase(f),
	)
}

// View shows a tenant.
var View = output.View[plans.Tenant]{
	{Name: "name", Value: func(t plans.Tenant) any { return t.Name }, InList: true, MinWidth: output.TextWidth},
	{Name: "id", Value: func(t plans.Tenant) any { return t.ID }},
	{Name: "plan", Value: func(t plans.Tenant) any { return t.Plan }, InList: true},
	{Name: "per_minute", Value: func(t plans.Tenant) any { return t.Quota.PerMinute }, InList: true},
	{Name: "per_day", Value: func(t plans.Tenant) any { return t.Quota.PerDay }, InList: true},
	PerMonth("per_month", monthOf),
	Overage("overage", monthOf),
	{Name: "status", Value: func(t plans.Tenant) any { return Status(t) }, InList: true},
	{Name: "created_at", Value: func(t plans.Tenant) any { return t.CreatedAt }},
	{Name: "suspended_at", Value: func(t plans.Tenant) any { return t.SuspendedAt }},
	{Name: "kind", Value: func(t plans.Tenant) any { return string(t.Kind) }},
	{Name: "next_plan", Value: func(t plans.Tenant) any { return Next(t).Plan }, InList: true},
	{Name: "next_per_minute", Value: func(t plans.Tenant) any { return output.NumberOrNil(Next(t).Quota.PerMinute) }},
	{Name: "next_per_day", Value: func(t plans.Tenant) any { return output.NumberOrNil(Next(t).Quota.PerDay) }},
	PerMonth("next_per_month", nextMonthOf),
	Overage("next_overage", nextMonthOf),
	{Name: "next_at", Value: func(t plans.Tenant) any { return t.Until }, InList: true},
	{Name: "billing_ref", Value: func(t plans.Tenant) any { return t.BillingRef }},
	{Name: "email", Value: func(t plans.Tenant) any { return t.Email }},
	{Name: "contact", Value: func(t plans.Tenant) any { return t.Contact }},
	{Name: "notes", Value: func(t plans.Tenant) any { return t.Notes }},
}

// Next is what follows the present plan or its numbers; the zero Tenant if nothing is scheduled.
func Next(t plans.Tenant) plans.Tenant {
	if t.Next == nil {
		return plans.Tenant{}
	}
	return *t.Next
}

// Status is active, suspended or erased.
func Status(t plans.Tenant) string {
	switch {
	case t.Erased():
		return "erased"
	case t.SuspendedAt.IsZero():
		return "active"
	}
	return "suspended"
}

func monthOf(t plans.Tenant) plans.Month     { return t.Quota.Month }
func nextMonthOf(t plans.Tenant) plans.Month { return Next(t).Quota.Month }

// PerMonth is the column of the requests that a month includes, nil without a month.
func PerMonth[T any](name string, month func(T) plans.Month) output.Column[T] {
	return output.Column[T]{Name: name, Value: func(item T) any {
		if m := month(item); m.Kind == plans.SomeMonth {
			return &m.Included
		}
		return (*int64)(nil)
	}}
}

// Overage is the column of the overage of a month, "" without a month.
func Overage[T any](name string, month func(T) plans.Month) output.Column[T] {
	return output.Column[T]{Name: name, Value: func(item T) any {
		if m := month(item); m.Kind == plans.SomeMonth {
			return m.Overage.String()
		}
		return ""
	}}
}

// ShowMonth returns the view of a table in which the column per_month has the overage too, such as
// 100,000+20%.
func ShowMonth[T any](v output.View[T], month func(T) plans.Month) output.View[T] {
	return v.Show("per_month").With("per_month", func(item T) any {
		m := month(item)
		included := output.Thousands(m.Included)
		switch m.Overage.Kind {
		case plans.OverageNumber:
			return included + "+" + output.Thousands(m.Overage.Value)
		case plans.OverageShare, plans.OverageUnlimited:
			return included + "+" + m.Overage.String()
		}
		if m.Kind != plans.SomeMonth {
			return ""
		}
		return included
	})
}

// QuotaText is a quota in words.
func QuotaText(q plans.Quota) string {
	text := fmt.Sprintf("%s requests per minute, %s per day", output.Thousands(q.PerMinute), output.Thousands(q.PerDay))
	if q.Month.Kind != plans.SomeMonth {
		return text
	}
	text += ", " + output.Thousands(q.Month.Included)
	limit, limited := q.Month.Overage.Limit(q.Month.Included)
	switch {
	case !limited:
		return text + " included per month and unlimited overage"
	case limit == 0:
		return text + " per month"
	case q.Month.Overage.Kind == plans.OverageShare:
		return fmt.Sprintf("%s included per month and %s overage (%s)", text, output.Thousands(limit), q.Month.Overage)
	}
	return text + " included per month and " + output.Thousands(limit) + " overage"
}

// ListView shows a tenant of a list. --over shows its usage too.
var ListView = append(
	output.Map(View, func(t tenancy.UsedTenant) plans.Tenant { return t.Tenant }),
	output.Column[tenancy.UsedTenant]{Name: "used_today", Value: func(t tenancy.UsedTenant) any { return t.Today }},
	output.Column[tenancy.UsedTenant]{Name: "used_month", Value: func(t tenancy.UsedTenant) any {
		if t.Quota.Month.Kind != plans.SomeMonth {
			return (*int64)(nil)
		}
		return t.Month
	}},
)

// percent reads a number of per cent, such as 80%.
func percent(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "%"), 10, 64)
	if err != nil || n < 1 || n > maxPercent {
		return 0, fmt.Errorf("%.80q is not a share such as 80%%", text)
	}
	return n, nil
}

// maxPercent is enough for tenants far into their overage.
const maxPercent = 100_000

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	var (
		filter tenancy.TenantFilter
		status string
	)
	l := &cmdutil.List[tenancy.UsedTenant]{
		Factory: f, Empty: "no tenants yet: petstorectl tenant create NAME --plan PLAN", NoMatch: "no tenant matches",
		Filters: []string{"plan", "status", "search", "inactive", "without-billing-ref", "over"},
		After:   func(t tenancy.UsedTenant) string { return t.Name },
	}
	l.View = func() output.View[tenancy.UsedTenant] {
		if filter.Over > 0 {
			return ListView.Show("used_today", "used_month")
		}
		return ListView
	}
	l.Table = func() output.View[tenancy.UsedTenant] {
		if filter.Over == 0 {
			return ListView
		}
		v := l.View().Hide("per_minute", "status", "next_plan", "next_at")
		return ShowMonth(v, func(t tenancy.UsedTenant) plans.Month { return t.Quota.Month })
	}
	l.Rows = func(ctx context.Context, db *store.DB, limit int) (iter.Seq2[tenancy.UsedTenant, error], error) {
		filter.Plan, filter.Limit, filter.Erased = l.Subject.Plan, limit, status == "erased"
		if suspended := status == "suspended"; suspended || status == "active" {
			filter.Suspended = &suspended
		}
		return db.Tenants.List(ctx, filter), nil
	}
	cmd := l.Command(&cobra.Command{
		Use:   "list",
		Short: "List tenants by name",
		Long: `List tenants by name: those to which all filters apply.

` + cmdutil.PastHelp,
		Example: `  petstorectl tenant list --plan pro --status suspended
  petstorectl tenant list --search acme
  petstorectl tenant list --inactive 30d -o csv
  petstorectl tenant list --over 80% # of the day, or of the month's included requests`,
	})
	listFlags(cmd, f, &filter, &l.Subject.Plan, &status)
	return cmd
}

// listFlags adds the filters of a list.
func listFlags(cmd *cobra.Command, f *cmdutil.Factory, filter *tenancy.TenantFilter, plan, status *string) {
	cmdutil.StringFlagFrom(cmd, plan, "plan", "only those on this `PLAN` now", cmdutil.PlanNames(f))
	cmdutil.EnumFlag(
		cmd,
		status,
		"status",
		"",
		"only one `STATUS`: active, suspended or erased",
		"active",
		"suspended",
		"erased",
	)
	cmdutil.TextFlag(
		cmd,
		&filter.Search,
		"search",
		"find `TEXT` in name, e-mail or billing reference",
		cmdutil.MaxSearch,
	)
	cmdutil.PastFlag(cmd, f, &filter.InactiveSince, "inactive", "only those without a request since `WHEN`")
	cmdutil.ParsedFlag(cmd, &filter.Over, "over", "", "only those that used `80%` of the day or month", percent)
	cmd.Flags().BoolVar(
		&filter.WithoutBillingRef,
		"without-billing-ref",
		false,
		"only those without a billing reference",
	)
	cmdutil.AfterFlag(cmd, &filter.After, "the tenant `NAME`")
}

func newCmdShow(f *cmdutil.Factory) *cobra.Command {
	s := &cmdutil.Show[Details]{Factory: f, View: func(time.Time) output.View[Details] { return DetailsView }}
	s.Get = func(ctx context.Context, db *store.DB) (d Details, err error) {
		if d.Tenant, err = db.Tenants.Get(ctx, s.Subject.Tenant); err != nil {
			return d, err
		}
		if d.waivers, err = db.Events.Waivers(ctx, d.ID); err != nil {
			return d, err
		}
		if d.emailState, err = db.Tenants.EmailState(ctx, d.ID); err != nil && !store.IsForbidden(err) {
			return d, err
		}
		valid, err := db.Keys.CountActive(ctx, d.ID, f.Now())
		if err == nil {
			d.banned, err = store.Collect(
				db.Keys.List(ctx, tenancy.KeyFilter{Tenant: d.Name, Status: keys.Banned}, f.Now()),
			)
			d.activeKeys = int64(valid - len(d.banned))
		}
		if store.IsForbidden(err) {
			err = nil
		}
		return d, err
	}
	return s.Command(&cobra.Command{
		Use:   "show TENANT",
		Short: "Show a tenant and its number of active keys",
		Example: `  petstorectl tenant show acme
  petstorectl tenant show 2 # its number`,
	}, cmdutil.TenantArg(f, &s.Subject.Tenant))
}

// Details is a tenant with its number of active keys, and its banned ones.
type Details struct {
	plans.Tenant
	// activeKeys is nil if the login may not read keys.
	activeKeys any
	banned     []keys.Key
	waivers    []billing.Waived
	emailState string
}

// DetailsView shows a single tenant.
var DetailsView = append(
	output.Map(View, func(d Details) plans.Tenant { return d.Tenant }),
	output.Column[Details]{Name: "email_state", Value: func(d Details) any { return d.emailState }},
	output.Column[Details]{Name: "active_keys", Value: func(d Details) any { return d.activeKeys }},
	output.Column[Details]{Name: "banned_keys", Value: func(d Details) any {
		ids := make([]string, len(d.banned))
		for i, k := range d.banned {
			ids[i] = k.ID
		}
		return ids
	}},
	output.Column[Details]{Name: "banned_until", Value: func(d Details) any {
		var last time.Time
		for _, k := range d.banned {
			last = slices.MaxFunc([]time.Time{last, k.Ban.EndsAt}, time.Time.Compare)
		}
		return last
	}},
	output.Column[Details]{Name: "waived", Value: func(d Details) any {
		texts := make([]string, len(d.waivers))
		for i, w := range d.waivers {
			texts[i] = cmp.Or(w.Receiver, "all") + " until " + output.Text(w.Until)
		}
		return texts
	}},
)

// batch is a change of tenants.
func batch(f *cmdutil.Factory, doing string) *cmdutil.Batch[plans.Tenant] {
	return &cmdutil.Batch[plans.Tenant]{
		Factory: f,
		Item:    cmdutil.TenantArg(f, nil),
		Noun:    "tenants",
		Doing:   doing,
		Find:    cmdutil.FindTenant,
		Lock:    cmdutil.LockTenants,
		Subject: func(name string) cmdutil.Subject { return cmdutil.Subject{Tenant: name} },
		View:    func(time.Time) output.View[plans.Tenant] { return View },
	}
}

func newCmdSuspend(f *cmdutil.Factory) *cobra.Command {
	b := batch(f, "suspending tenants")
	b.Question = func(ctx context.Context, db *store.DB, names []string, _ []plans.Tenant) (cmdutil.Question, error) {
		return suspensionQuestion(ctx, f, db, names)
	}
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, name string) (plans.Tenant, error) {
		return db.Tenants.Suspend(ctx, by, name, time.Time{})
	}
	b.Notice = func(t plans.Tenant) cmdutil.Notice {
		return cmdutil.Notice{Text: "suspended tenant " + t.Name + ": its keys are refused", Item: "tenant " + t.Name}
	}
	return b.Command(&cobra.Command{
		Use:   "suspend {TENANT... | --stdin}",
		Short: "Suspend a tenant: refuse all its keys",
		Long: `Suspend tenants: every server refuses all their keys within 400 ms, until they
are resumed.

` + cmdutil.ItemsHelp + `

The command asks for confirmation, and if the tenant called today for its name.
Scripts need --yes.`,
		Example: `  petstorectl tenant suspend acme --reason "invoice 1042 unpaid" --yes
  petstorectl tenant suspend --stdin --dry-run < unpaid.txt`,
	})
}

func newCmdResume(f *cmdutil.Factory) *cobra.Command {
	b := batch(f, "resuming tenants")
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, name string) (plans.Tenant, error) {
		return db.Tenants.Resume(ctx, by, name)
	}
	b.Notice = func(t plans.Tenant) cmdutil.Notice {
		return cmdutil.Notice{Text: "resumed tenant " + t.Name, Item: "tenant " + t.Name}
	}
	return b.Command(&cobra.Command{
		Use:   "resume {TENANT... | --stdin}",
		Short: "Resume a suspended tenant",
		Long:  "Resume suspended tenants.\n\n" + cmdutil.ItemsHelp,
		Example: `  petstorectl tenant resume acme --reason "paid"
  petstorectl tenant resume acme zoo`,
	})
}

// suspensionQuestion shows what the tenants sent today.
func suspensionQuestion(
	ctx context.Context,
	f *cmdutil.Factory,
	db *store.DB,
	names []string,
) (q cmdutil.Question, err error) {
	used, err := db.Usage.TenantsSince(ctx, names, f.Now().Truncate(24*time.Hour))
	if err != nil {
		return q, err
	}
	q.Facts = cmdutil.Facts(names, func(name string) string {
		return fmt.Sprintf("%s: %s requests today", name, output.Thousands(used[name]))
	})
	q.Word = cmdutil.WordFor(used)
	q.Text = fmt.Sprintf("Suspend tenant %s and refuse all its keys?", names[0])
	if len(names) > 1 {
		q.Text = fmt.Sprintf("Suspend these %d tenants and refuse all their keys?", len(names))
	}
	return q, nil
}
