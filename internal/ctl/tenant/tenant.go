// Package tenant holds the commands about tenants.
package tenant

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/people"
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
	{Name: "status", Value: func(t plans.Tenant) any { return Status(t) }, InList: true},
	{Name: "created_at", Value: func(t plans.Tenant) any { return t.CreatedAt }},
	{Name: "suspended_at", Value: func(t plans.Tenant) any { return t.SuspendedAt }},
	{Name: "kind", Value: func(t plans.Tenant) any { return string(t.Kind) }},
	{Name: "next_plan", Value: func(t plans.Tenant) any { return Next(t).Plan }, InList: true},
	{Name: "next_per_minute", Value: func(t plans.Tenant) any { return output.NumberOrNil(Next(t).Quota.PerMinute) }},
	{Name: "next_per_day", Value: func(t plans.Tenant) any { return output.NumberOrNil(Next(t).Quota.PerDay) }},
	{Name: "next_at", Value: func(t plans.Tenant) any { return t.Until }, InList: true},
	{Name: "billing_ref", Value: func(t plans.Tenant) any { return t.BillingRef }},
	{Name: "email", Value: func(t plans.Tenant) any { return t.Email }},
	{Name: "contact", Value: func(t plans.Tenant) any { return t.Contact }},
	{Name: "notes", Value: func(t plans.Tenant) any { return t.Notes }},
}

// Next is what is in force when the present plan or its numbers end, the zero Tenant if nothing is
// scheduled.
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

// QuotaText is a quota in words.
func QuotaText(q plans.Quota) string {
	return fmt.Sprintf("%s requests per minute, %s per day", output.Thousands(q.PerMinute), output.Thousands(q.PerDay))
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	var (
		filter people.TenantFilter
		status string
	)
	l := &cmdutil.List[plans.Tenant]{
		Factory: f, Empty: "no tenants yet: petstorectl tenant create NAME --plan PLAN", NoMatch: "no tenant matches",
		Filters: []string{"plan", "status", "search", "inactive", "without-billing-ref"},
		After:   func(t plans.Tenant) string { return t.Name },
		View:    func() output.View[plans.Tenant] { return View },
	}
	l.Rows = func(ctx context.Context, db *store.DB, limit int) (iter.Seq2[plans.Tenant, error], error) {
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
  petstorectl tenant list --inactive 30d -o csv`,
	})
	cmdutil.StringFlagFrom(cmd, &l.Subject.Plan, "plan", "only those on this `PLAN` now", cmdutil.PlanNames(f))
	cmdutil.EnumFlag(
		cmd,
		&status,
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
	cmd.Flags().BoolVar(
		&filter.WithoutBillingRef,
		"without-billing-ref",
		false,
		"only those without a billing reference",
	)
	cmdutil.AfterFlag(cmd, &filter.After, "the tenant `NAME`")
	return cmd
}

func newCmdShow(f *cmdutil.Factory) *cobra.Command {
	s := &cmdutil.Show[Details]{Factory: f, View: func(time.Time) output.View[Details] { return DetailsView }}
	s.Get = func(ctx context.Context, db *store.DB) (d Details, err error) {
		if d.Tenant, err = db.Tenants.Get(ctx, s.Subject.Tenant); err != nil {
			return d, err
		}
		valid, err := db.Keys.CountActive(ctx, d.ID, f.Now())
		if err == nil {
			d.banned, err = store.Collect(
				db.Keys.List(ctx, people.KeyFilter{Tenant: d.Name, Status: keys.Banned}, f.Now()),
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

// Details is a tenant with its number of active keys, and the banned ones.
type Details struct {
	plans.Tenant
	// activeKeys is nil if the login may not read keys.
	activeKeys any
	banned     []keys.Key
}

// DetailsView shows a single tenant.
var DetailsView = append(
	output.Map(View, func(d Details) plans.Tenant { return d.Tenant }),
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
