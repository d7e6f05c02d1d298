package tenant

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type editOptions struct {
	*cmdutil.Factory

	name string
	edit store.TenantEdit
}

func newCmdEdit(f *cmdutil.Factory) *cobra.Command {
	o := &editOptions{Factory: f}
	var name string
	var profile plans.Profile
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "edit TENANT",
		Short: "Change a tenant: its name, how it is billed, and notes about it",
		Long: `Change what staff know about a tenant: its name, its ID in the billing system,
such as cus_123 of Stripe, the address for bills, whom to ask, and notes. A
value whose flag is not given stays as it is. An empty one is removed.

The name is the one that commands and logs use. Servers know a new one within
400 ms, and the old one is free again. The tenant's number, keys and limits stay
the same, and so do lines of closed months, which have the name of then.

The audit trail holds none of these values but the billing reference. The
command takes one tenant: its values are of no other.`,
		Example: `  petstorectl tenant edit acme --billing-ref cus_123 --email billing@acme.example
  petstorectl tenant edit acme --name acme-europe --reason "order 18"
  petstorectl tenant edit acme --contact "Jo Doe, +49 30 1234" --notes ""`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for flag, set := range map[string]func(){
				"name":        func() { o.edit.Name = &name },
				"billing-ref": func() { o.edit.BillingRef = &profile.BillingRef },
				"email":       func() { o.edit.Email = &profile.Email },
				"contact":     func() { o.edit.Contact = &profile.Contact },
				"notes":       func() { o.edit.Notes = &profile.Notes },
			} {
				if cmd.Flags().Changed(flag) {
					set()
				}
			}
			if o.edit == (store.TenantEdit{}) {
				return cmdutil.UsageErrorf("nothing to change: give --name, --billing-ref, --email, --contact or --notes").
					WithHint("see: " + cmd.CommandPath() + " --help")
			}
			return runEdit(cmd.Context(), o)
		},
	}, cmdutil.TenantArg(f, &o.name))
	cmd.Flags().StringVar(&name, "name", "", "the new `NAME`: a-z, 0-9 and -")
	cmdutil.CompleteFlag(cmd, "name")
	profileFlags(cmd, &profile)
	return cmd
}

// profileFlags adds the flags of a tenant's profile.
func profileFlags(cmd *cobra.Command, p *plans.Profile) {
	for _, flag := range []struct {
		value       *string
		name, usage string
	}{
		{&p.BillingRef, "billing-ref", "`ID` in the billing system, such as cus_123"},
		{&p.Email, "email", "e-mail `ADDRESS` for billing"},
		{&p.Contact, "contact", "whom to ask: `TEXT` of at most 200 characters"},
		{&p.Notes, "notes", "what staff should know: `TEXT` of at most 1,000\ncharacters"},
	} {
		cmd.Flags().StringVar(flag.value, flag.name, "", flag.usage)
		cmdutil.CompleteFlag(cmd, flag.name)
	}
}

func runEdit(ctx context.Context, o *editOptions) error {
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	before, after, err := db.Tenants.Edit(ctx, actor, o.name, o.edit)
	if err != nil {
		subject := cmdutil.Subject{Tenant: o.name}
		if errors.Is(err, plans.ErrTenantName) || errors.Is(err, plans.ErrTenantExists) {
			subject.Tenant = *o.edit.Name
		}
		return o.Explain(ctx, err, subject)
	}
	if before.Name == after.Name && before.Profile == after.Profile {
		o.Messagef("tenant %s already has these values: nothing was changed", after.Name)
	} else {
		o.Changedf("changed tenant %s: %s", before.Name, differences(before, after))
	}
	return cmdutil.PrintChanged(o.Factory, View, after)
}

// differences is what an edit changed, in words.
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
