package tenant

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
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
	var ref, email string
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "edit TENANT",
		Short: "Change how a tenant is billed: its billing reference and e-mail address",
		Long: `Change a tenant's ID in the billing system, such as cus_123 of Stripe, and the
address to write to. A value whose flag is not given stays as it is. An empty
one is removed. The audit trail does not hold the address.`,
		Example: `  petstorectl tenant edit acme --billing-ref cus_123 --email billing@acme.example
  petstorectl tenant edit acme --email ""`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("billing-ref") {
				o.edit.BillingRef = &ref
			}
			if cmd.Flags().Changed("email") {
				o.edit.Email = &email
			}
			if o.edit == (store.TenantEdit{}) {
				return cmdutil.UsageErrorf("nothing to change: give --billing-ref or --email").WithHint("see: " + cmd.CommandPath() + " --help")
			}
			return runEdit(cmd.Context(), o)
		},
	}, cmdutil.TenantArg(f, &o.name))
	cmd.Flags().StringVar(&ref, "billing-ref", "", "`ID` in the billing system, empty to remove it")
	cmd.Flags().StringVar(&email, "email", "", "e-mail `ADDRESS` for billing, empty to remove it")
	cmdutil.CompleteFlag(cmd, "billing-ref")
	cmdutil.CompleteFlag(cmd, "email")
	return cmd
}

func runEdit(ctx context.Context, o *editOptions) error {
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	before, after, err := db.Tenants.Edit(ctx, actor, o.name, o.edit)
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.name})
	}
	if before.BillingRef == after.BillingRef && before.Email == after.Email {
		o.Messagef("tenant %s already has these values: nothing was changed", after.Name)
	} else {
		o.Changedf("%s", editedText(after))
	}
	return cmdutil.PrintChanged(o.Factory, View, after)
}

func editedText(t plans.Tenant) string {
	ref, email := "no billing reference", "no e-mail address"
	if t.BillingRef != "" {
		ref = "billing reference " + t.BillingRef
	}
	if t.Email != "" {
		email = "e-mail address " + t.Email
	}
	return "changed tenant " + t.Name + ": " + ref + ", " + email
}
