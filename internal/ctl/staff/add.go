package staff

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/staff"
	"petstore.example/internal/store"
)

type addOptions struct {
	*cmdutil.Factory

	name    string
	role    staff.Role
	expires *time.Time
}

func newCmdAdd(f *cmdutil.Factory, runF func(context.Context, *addOptions) error) *cobra.Command {
	o := &addOptions{Factory: f}
	cmd := cmdutil.ForAdministrators(f.ChangeCommand(&cobra.Command{
		Use:     "add NAME",
		Aliases: []string{"create"},
		Short:   "Add a login for a person and print its secret once",
		Long: `Add a login of Postgres for a person, in a role: support or billing. Print its
secret. It can't be shown again: Postgres stores only what verifies it.

This needs an administrator: a login that may make roles. See docs/roles.md.`,
		Example: `  petstorectl staff add alice --role support
  petstorectl staff add bob --role billing --expires 30d`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmdutil.RequireFlags(cmd, "role"); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}, cmdutil.Arg{Name: "NAME", Value: &o.name}))
	cmdutil.EnumFlag(cmd, &o.role, "role", "", "`ROLE`: support or billing", staff.Support, staff.Billing)
	expiresFlag(cmd, f, &o.expires)
	return cmd
}

func runAdd(ctx context.Context, o *addOptions) error {
	if err := staff.CheckName(o.name); err != nil {
		return explain(err, o.name, "")
	}
	expires, err := expiry(o.Factory, o.expires)
	if err != nil {
		return err
	}
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	secret, verifier, err := newSecret()
	if err != nil {
		return err
	}
	added, err := db.Staff.Add(ctx, actor, store.NewLogin{Name: o.name, Role: o.role, Verifier: verifier, ExpiresAt: expires})
	if err != nil {
		return explain(err, o.name, fmt.Sprintf("create role %s login valid until '%s' in role %s; \\password %[1]s", o.name, output.Text(expires), o.role.Group()))
	}
	o.Changedf("added login %s in the role %s: its secret is valid until %s", added.Name, o.role.Group(), output.Text(added.ExpiresAt))
	return printIssued(o.Factory, added, secret)
}
