package staff

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
)

type rotateOptions struct {
	*cmdutil.Factory

	name    string
	expires *time.Time
}

func newCmdRotate(f *cmdutil.Factory, runF func(context.Context, *rotateOptions) error) *cobra.Command {
	o := &rotateOptions{Factory: f}
	cmd := cmdutil.ForAdministrators(f.ChangeCommand(&cobra.Command{
		Use:   "rotate NAME",
		Short: "Replace the secret of a login and print the new one once",
		Long: `Replace the secret of a login, because it expires or has leaked, and print the
new one. The old one is refused at once, and the sessions of the login end.

This needs an administrator: a login that may make roles. See docs/roles.md.`,
		Example: `  petstorectl staff rotate alice --reason "lost laptop"`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}, loginArg(f, &o.name)))
	expiresFlag(cmd, f, &o.expires)
	return cmd
}

func runRotate(ctx context.Context, o *rotateOptions) error {
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
	after, err := db.Staff.Rotate(ctx, actor, o.name, verifier, expires)
	if err != nil {
		return explain(err, o.name, fmt.Sprintf("alter role %s valid until '%s'; \\password %[1]s", o.name, output.Text(expires)))
	}
	o.Changedf("rotated the secret of login %s: the new one is valid until %s", after.Name, output.Text(after.ExpiresAt))
	// The secret is printed even if the sessions can't be ended: it is in force.
	return errors.Join(endSessions(ctx, o.Factory, db, after), printIssued(o.Factory, after, secret))
}
