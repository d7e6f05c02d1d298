package tenant

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
)

func newCmdCreate(f *cmdutil.Factory) *cobra.Command {
	var (
		quota  cmdutil.QuotaFlags
		end    cmdutil.EndFlags
		tenant tenancy.NewTenant
	)
	var others []plans.Tenant
	c := &cmdutil.Change[plans.Tenant]{Factory: f, View: View, Requires: []string{"plan"}}
	c.Check = func(cmd *cobra.Command) (err error) {
		tenant.Name, tenant.Plan, tenant.Until, tenant.Then = c.Subject.Tenant, c.Subject.Plan, end.Until(), end.Then
		if err = end.CheckTrial(); err == nil {
			tenant.Own, err = quota.All()
		}
		return err
	}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (t plans.Tenant, err error) {
		if others, err = cmdutil.WithRef(ctx, db, tenant.BillingRef); err != nil {
			return t, err
		}
		return db.Tenants.Create(ctx, by, tenant, time.Time{})
	}
	c.Notice = func(t plans.Tenant) string {
		text := fmt.Sprintf("created tenant %s on plan %s: %s", t.Name, t.Plan, QuotaText(t.Quota))
		if end.Then != "" {
			text += " until " + output.Text(t.Until) + ", then " + t.Next.Plan + ": " + QuotaText(t.Next.Quota)
		}
		return text + cmdutil.SharedRef(t.ID, t.BillingRef, others)
	}
	cmd := c.Command(&cobra.Command{
		Use:   "create NAME --plan PLAN",
		Short: "Create a tenant",
		Long: `Create a tenant on a plan. Its name is 1 to 63 characters of a-z, 0-9 and -, and
does not begin with -.

A trial ends by itself: with --until the tenant is on the plan --then from that
instant on, unless another plan is assigned before.

The enterprise plan requires a quota: --per-minute and --per-day or --per-month.

Handing usage on to a billing system requires the tenant's ID there. It can also
be set later: tenant edit.

` + cmdutil.WhenHelp,
		Example: `  petstorectl tenant create acme --plan pro
  petstorectl tenant create acme --plan pro --until 14d --then free
  petstorectl tenant create umbrella --plan enterprise --per-minute 12345 --per-day 5000000`,
	}, cmdutil.Arg{Name: "NAME", Value: &c.Subject.Tenant})
	cmdutil.StringFlagFrom(
		cmd,
		&c.Subject.Plan,
		"plan",
		"the tenant's `PLAN`: see petstorectl plan list",
		cmdutil.PlanNames(f),
	)
	quota.Add(cmd, " (enterprise plan)")
	end.Add(cmd, f)
	profileFlags(cmd, &tenant.Profile)
	return cmd
}

// edited is a tenant before and after the change.
type edited struct {
	before, after plans.Tenant
	asked         bool
}

func newCmdEdit(f *cmdutil.Factory) *cobra.Command {
	var (
		name    string
		profile plans.Profile
		edit    tenancy.TenantEdit
		others  []plans.Tenant
		ask     bool
	)
	c := &cmdutil.Change[edited]{Factory: f, View: output.Map(View, func(e edited) plans.Tenant { return e.after })}
	c.Check = func(cmd *cobra.Command) error {
		for flag, set := range map[string]func(){
			"name":        func() { edit.Name = &name },
			"billing-ref": func() { edit.BillingRef = &profile.BillingRef },
			"email":       func() { edit.Email = &profile.Email },
			"contact":     func() { edit.Contact = &profile.Contact },
			"notes":       func() { edit.Notes = &profile.Notes },
		} {
			if cmd.Flags().Changed(flag) {
				set()
			}
		}
		switch {
		case ask && edit != (tenancy.TenantEdit{}):
			return cmdutil.UsageErrorf("--confirm-email goes alone: another address is asked by itself")
		case !ask && edit == (tenancy.TenantEdit{}):
			return cmdutil.UsageErrorf(
				"nothing to change: give --name, --billing-ref, --email, --contact, --notes or --confirm-email",
			).WithHint("see: " + cmd.CommandPath() + " --help")
		}
		return nil
	}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (e edited, err error) {
		if ask {
			e.after, e.asked, err = db.Tenants.Ask(ctx, by, c.Subject.Tenant)
			e.before = e.after
			return e, err
		}
		if others, err = cmdutil.WithRef(ctx, db, profile.BillingRef); err != nil {
			return e, err
		}
		e.before, e.after, err = db.Tenants.Edit(ctx, by, c.Subject.Tenant, edit)
		return e, err
	}
	c.Explain = func(ctx context.Context, err error) error {
		if errors.Is(err, plans.ErrTenantName) || errors.Is(err, plans.ErrTenantExists) {
			c.Subject.Tenant = name
		}
		return f.Explain(ctx, err, c.Subject)
	}
	c.Unchanged = func(e edited) bool {
		return !e.asked && e.before.Name == e.after.Name && e.before.Profile == e.after.Profile
	}
	c.Notice = func(e edited) string { return editNotice(e, ask, c.Unchanged(e), others) }
	cmd := c.Command(newEditTexts(), cmdutil.TenantArg(f, &c.Subject.Tenant))
	cmdutil.StringFlag(cmd, &name, "name", "the new `NAME`: a-z, 0-9 and -")
	profileFlags(cmd, &profile)
	cmd.Flags().BoolVar(&ask, "confirm-email", false, "ask the address to confirm, by mail")
	return cmd
}

// editNotice says what an edit did, or asking for a confirmation.
func editNotice(e edited, ask, unchanged bool, others []plans.Tenant) string {
	switch {
	case e.asked:
		return "tenant " + e.after.Name + " is asked to confirm " + output.Clean(e.after.Email)
	case ask:
		return "tenant " + e.after.Name + " will be asked to confirm " + output.Clean(e.after.Email) + " anyway"
	case unchanged:
		return "tenant " + e.after.Name + " already has these values"
	}
	text := "changed tenant " + e.before.Name + ": " + differences(e.before, e.after)
	text += cmdutil.FormerRef(e.before.BillingRef, e.after.BillingRef)
	if e.before.BillingRef != e.after.BillingRef {
		text += cmdutil.SharedRef(e.after.ID, e.after.BillingRef, others)
	}
	return text
}

func newEditTexts() *cobra.Command {
	return &cobra.Command{
		Use:   "edit TENANT",
		Short: "Change a tenant: its name, how it is billed, and notes about it",
		Long: `Change what staff know about a tenant: its name, its ID in the billing system,
such as cus_123 of Stripe, the address for bills, a contact, and notes. A value
whose flag is not given stays as it is. An empty one is removed.

An address is asked by mail to confirm when it is set. One that has confirmed is
told by mail of keys that end or are banned, of limits that are nearly reached,
of plans, and of webhooks that fail. With --confirm-email it is asked again, or
for the first time if it is from before there was mail; at most 3 times in 30
days.

Commands and logs use the name. Servers know a new name within 400 ms, and the
old name is free again. The tenant's number, keys and limits stay the same.
Lines of closed months keep the old name.

The audit trail holds none of these values but the billing reference. The
command changes one tenant.`,
		Example: `  petstorectl tenant edit acme --billing-ref cus_123 --email billing@acme.example
  petstorectl tenant edit acme --name acme-europe --reason "order 18"
  petstorectl tenant edit acme --confirm-email
  petstorectl tenant edit acme --contact "Jo Doe, +49 30 1234" --notes ""`,
	}
}

// profileFlags adds the flags of a tenant's profile.
func profileFlags(cmd *cobra.Command, p *plans.Profile) {
	cmdutil.StringFlag(cmd, &p.BillingRef, "billing-ref", "`ID` in the billing system, such as cus_123")
	cmdutil.StringFlag(cmd, &p.Email, "email", "e-mail `ADDRESS` for billing and notices")
	cmdutil.StringFlag(cmd, &p.Contact, "contact", "a person to ask: `TEXT` of at most 200 characters")
	cmdutil.StringFlag(cmd, &p.Notes, "notes", "what staff should know: `TEXT` of at most 1,000\ncharacters")
}

// differences says what an edit changed, in words.
func differences(before, after plans.Tenant) string {
	var changes []string
	for _, m := range []struct{ what, was, is string }{
		{"name", before.Name, after.Name},
		{"billing reference", before.BillingRef, after.BillingRef},
		{"e-mail address", before.Email, after.Email},
		{"contact", before.Contact, after.Contact},
		{"notes", before.Notes, after.Notes},
	} {
		switch {
		case m.was == m.is:
		case m.is == "":
			changes = append(changes, "no "+m.what)
		default:
			changes = append(changes, m.what+" "+output.Clean(m.is))
		}
	}
	return strings.Join(changes, ", ")
}
