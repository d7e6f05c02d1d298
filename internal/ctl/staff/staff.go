// Package staff holds the commands about the logins of persons.
package staff

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/staff"
	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
)

// NewCmd returns the command staff.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup(
		"staff",
		"Manage the logins of persons",
		newCmdAdd(f),
		newCmdList(f),
		newCmdRotate(f),
		newCmdRemove(f),
	)
}

// View shows a login with its status at an instant.
func View(now time.Time) output.View[staff.Login] {
	return output.View[staff.Login]{
		{Name: "name", Value: func(l staff.Login) any { return l.Name }, InList: true},
		{Name: "roles", Value: func(l staff.Login) any { return l.RoleNames() }, InList: true},
		{Name: "status", Value: func(l staff.Login) any { return l.Status(now) }, InList: true},
		{Name: "expires_at", Value: func(l staff.Login) any { return l.ExpiresAt }, InList: true},
		{Name: "sessions", Value: func(l staff.Login) any { return l.Sessions }, InList: true},
		{
			Name:    "last_change_at",
			Heading: "LAST CHANGE",
			Value:   func(l staff.Login) any { return l.LastChangeAt },
			InList:  true,
		},
	}
}

// Issued is a login with its new secret.
type Issued struct {
	staff.Login
	secret staff.Secret
	dryRun bool
}

// IssuedView shows a login with its new secret, which is empty after a dry run.
var IssuedView = output.View[Issued]{
	{Name: "name", Value: func(i Issued) any { return i.Name }},
	{Name: "secret", Value: func(i Issued) any {
		if i.dryRun {
			return ""
		}
		return i.secret.Reveal()
	}},
	{Name: "roles", Value: func(i Issued) any { return i.RoleNames() }},
	{Name: "expires_at", Value: func(i Issued) any { return i.ExpiresAt }},
}

func newCmdAdd(f *cmdutil.Factory) *cobra.Command {
	n := admin.NewLogin{}
	c := &cmdutil.Change[Issued]{Factory: f, Requires: []string{"role"}, View: IssuedView, Print: printIssued(f)}
	c.Secret, c.Again = "the secret", again
	c.Do = issue(&n.Verifier, func(ctx context.Context, db *store.DB, by audit.By) (staff.Login, error) {
		return db.Staff.Add(ctx, by, n)
	})
	c.Notice = func(i Issued) string {
		return fmt.Sprintf(
			"added login %s in the role %s: its secret is valid until %s",
			i.Name,
			n.Role.Group(),
			output.Text(i.ExpiresAt),
		)
	}
	c.Explain = func(_ context.Context, err error) error {
		return explain(
			err,
			n.Name,
			fmt.Sprintf(
				"create role %s login valid until '%s' in role %s; \\password %[1]s",
				n.Name,
				output.Text(n.ExpiresAt),
				n.Role.Group(),
			),
		)
	}
	cmd := cmdutil.ForAdministrators(c.Command(&cobra.Command{
		Use:     "add NAME",
		Aliases: []string{"create"},
		Short:   "Add a login for a person and print its secret once",
		Long: `Add a login of Postgres for a person, in a role: support or billing. Print its
secret. It can't be shown again: Postgres stores only what verifies it.

This needs an administrator: a login that may make roles. See docs/roles.md.`,
		Example: `  petstorectl staff add alice --role support
  petstorectl staff add bob --role billing --expires 30d`,
	},
		cmdutil.Arg{Name: "NAME", Value: &n.Name,
			Check: func(name string) error { return explain(staff.CheckName(name), name, "") }}))
	cmdutil.EnumFlag(cmd, &n.Role, "role", "", "`ROLE`: support or billing", staff.Support, staff.Billing)
	expiresFlag(cmd, f, &n.ExpiresAt)
	return cmd
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	l := &cmdutil.List[staff.Login]{
		Factory: f,
		All:     true,
		Empty:   "no logins",
		View:    func() output.View[staff.Login] { return View(f.Now()) },
	}
	l.Rows = func(ctx context.Context, db *store.DB, _ int) (iter.Seq2[staff.Login, error], error) {
		list, err := db.Staff.List(ctx)
		return cmdutil.Items(list), err
	}
	return l.Command(&cobra.Command{
		Use:   "list",
		Short: "List the logins of persons",
		Long: `List the logins of persons with their roles, when their secrets expire, how many
sessions they have, and when they made their last change by the audit trail.`,
		Example: "  petstorectl staff list",
	})
}

func newCmdRotate(f *cmdutil.Factory) *cobra.Command {
	var (
		name, verifier string
		expires        time.Time
	)
	c := &cmdutil.Change[Issued]{Factory: f, View: IssuedView, Secret: "the secret", Again: again}
	c.Do = issue(&verifier, func(ctx context.Context, db *store.DB, by audit.By) (staff.Login, error) {
		return db.Staff.Rotate(ctx, by, name, verifier, expires)
	})
	c.Notice = func(i Issued) string {
		return fmt.Sprintf(
			"rotated the secret of login %s: the new one is valid until %s",
			i.Name,
			output.Text(i.ExpiresAt),
		)
	}
	c.Explain = func(_ context.Context, err error) error {
		return explain(
			err,
			name,
			fmt.Sprintf("alter role %s valid until '%s'; \\password %[1]s", name, output.Text(expires)),
		)
	}
	c.Print = func(ctx context.Context, db *store.DB, i Issued) error {
		// The secret is printed even if the sessions can't be ended: it is in force.
		return errors.Join(endSessions(ctx, f, db, i.Login), printIssued(f)(ctx, db, i))
	}
	cmd := cmdutil.ForAdministrators(c.Command(&cobra.Command{
		Use:   "rotate NAME",
		Short: "Replace the secret of a login and print the new one once",
		Long: `Replace the secret of a login, because it expires or has leaked, and print the
new one. The old one is refused at once, and the sessions of the login end.

This needs an administrator: a login that may make roles. See docs/roles.md.`,
		Example: `  petstorectl staff rotate alice --reason "lost laptop"`,
	}, loginArg(f, &name)))
	expiresFlag(cmd, f, &expires)
	return cmd
}

func newCmdRemove(f *cmdutil.Factory) *cobra.Command {
	var name string
	c := &cmdutil.Change[staff.Login]{Factory: f, View: View(f.Now())}
	c.Question = func(_ context.Context, _ *store.DB, l staff.Login) (cmdutil.Question, error) {
		return cmdutil.Question{Text: removeQuestion(l)}, nil
	}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (staff.Login, error) {
		return db.Staff.Remove(ctx, by, name)
	}
	c.Notice = func(l staff.Login) string { return "removed login " + l.Name }
	c.Explain = func(_ context.Context, err error) error { return explain(err, name, "drop role "+name) }
	c.Print = func(ctx context.Context, db *store.DB, l staff.Login) error {
		if err := endSessions(ctx, f, db, l); err != nil {
			return err
		}
		return cmdutil.PrintChanged(f, c.View, l)
	}
	return cmdutil.ForAdministrators(c.Command(&cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm"},
		Short:   "Remove a login and end its sessions",
		Long: `Remove the login of a person and end its sessions. Its entries in the audit
trail stay. A login that owns objects of the database is refused.

This needs an administrator: a login that may make roles. See docs/roles.md.
The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl staff remove alice --reason "left the company" --yes`,
	}, loginArg(f, &name)))
}

// removeQuestion says what is lost: the roles, and open sessions.
func removeQuestion(l staff.Login) string {
	question := fmt.Sprintf("Remove login %s of %s", l.Name, strings.Join(l.RoleNames(), " and "))
	if l.Sessions > 0 {
		question += ", and end " + output.Count(l.Sessions, "session")
	}
	return question + "?"
}

// loginArg is the argument NAME of an existing login.
func loginArg(f *cmdutil.Factory, value *string) cmdutil.Arg {
	return cmdutil.Arg{Name: "NAME", Value: value, Complete: cmdutil.StaffNames(f)}
}

const (
	// secretLifetime is how long a secret is valid without --expires, maxLifetime the longest time.
	secretLifetime = 90 * 24 * time.Hour
	maxLifetime    = 366 * 24 * time.Hour
)

// expiresFlag adds --expires.
func expiresFlag(cmd *cobra.Command, f *cmdutil.Factory, at *time.Time) {
	*at = f.Now().Add(secretLifetime)
	cmdutil.ParsedFlag(
		cmd,
		at,
		"expires",
		"",
		"`WHEN` the secret expires: 30d, 2027-01-01 (default: 90d)",
		func(text string) (time.Time, error) {
			if text == "" {
				return *at, nil
			}
			w, err := cmdutil.ParseWhen(text, f.Now())
			expires := w.After(f.Now())
			switch {
			case text == "never" || err == nil && expires.Sub(f.Now()) > maxLifetime:
				return expires, errors.New("a secret is valid for at most a year")
			case err == nil && !expires.After(f.Now()):
				return expires, fmt.Errorf("%s is in the past", text)
			}
			return expires, err
		},
		"30d",
		"90d",
		"1y",
	)
}

// issue returns the Do of a change that gives a login a new secret. Postgres gets only the
// verifier.
func issue(
	verifier *string,
	do func(context.Context, *store.DB, audit.By) (staff.Login, error),
) func(context.Context, *store.DB, audit.By) (Issued, error) {
	return func(ctx context.Context, db *store.DB, by audit.By) (i Issued, err error) {
		if i.secret, err = staff.NewSecret(); err != nil {
			return i, err
		}
		if *verifier, err = i.secret.Verifier(); err != nil {
			return i, err
		}
		i.dryRun = by.DryRun
		i.Login, err = do(ctx, db, by)
		return i, err
	}
}

// again says how to get another secret.
func again(i Issued) string { return "replace it: petstorectl staff rotate " + i.Name }

// printIssued prints a new secret. Only the secret is printed, unless another format was asked for
// or a dry run left none to print.
func printIssued(f *cmdutil.Factory) func(context.Context, *store.DB, Issued) error {
	return func(_ context.Context, _ *store.DB, i Issued) error {
		if !f.DryRun {
			arguments, rootCert := "URL", ""
			if source, err := f.FindDatabase(); err == nil {
				arguments, rootCert = "'"+source.Target.URLFor(i.Name)+"'", source.Target.RootCert
			}
			f.Messagef("they log in with this command, which asks for the secret:")
			f.Messagef("  petstorectl login %s", arguments)
			if rootCert != "" && rootCert != "system" {
				name := filepath.Base(rootCert)
				if path, err := filepath.Abs(rootCert); err == nil { // as the driver does
					rootCert = path
				}
				f.Messagef("send them the file of the CA, %s: they run the command in the folder that has it as %s",
					rootCert, name)
			}
			f.Messagef("copy the secret now, it is not shown again:")
		}
		if p := f.Printer(); p.Whole() || f.DryRun {
			return output.Item(p, IssuedView, i)
		}
		_, err := fmt.Fprintln(f.Out, i.secret.Reveal())
		return err
	}
}

// explain returns the Error for an error of the store. Other errors are unchanged. byHand is the
// SQL by which an administrator can do the same.
func explain(err error, name, byHand string) error {
	var (
		lacks      staff.LacksRightError
		privileged staff.PrivilegedError
		owns       staff.OwnsError
	)
	switch {
	case errors.As(err, &lacks):
		if lacks.Lacks != staff.CreateRole {
			byHand = lacks.Statement
		}
		return cmdutil.RefusedErrorf("%v", lacks).WithHint("ask an administrator, who can run in SQL: " + byHand)
	case errors.As(err, &privileged):
		return cmdutil.RefusedErrorf("%v", privileged).WithHint("an administrator changes it in SQL: see docs/roles.md")
	case errors.As(err, &owns):
		return cmdutil.RefusedErrorf(
			"%v",
			owns,
		).WithHint(
			fmt.Sprintf(
				"an administrator must run there: reassign owned by %s to petstore_owner; drop owned by %[1]s",
				name,
			),
		)
	case errors.Is(err, staff.ErrOwnLogin):
		return cmdutil.RefusedErrorf("login %s is your own", name).WithHint("ask another administrator")
	case errors.Is(err, staff.ErrExists):
		return cmdutil.RefusedErrorf(
			"Postgres already has a role %q",
			name,
		).WithHint("choose another name; see: petstorectl staff list")
	case errors.Is(err, staff.ErrNotFound):
		return cmdutil.NotFoundErrorf(
			"no login %q in petstore_support or petstore_billing",
			name,
		).WithHint("see: petstorectl staff list")
	case errors.Is(err, staff.ErrName):
		return cmdutil.UsageErrorf("invalid name of a login").WithHint(
			"a name is 1 to 63 characters of a-z, 0-9 and _, begins with a letter, and not with pg_ or petstore_")
	case store.IsForbidden(err):
		return cmdutil.RefusedErrorf(
			"Postgres does not let your login manage login %s",
			name,
		).WithHint("ask an administrator, who can run in SQL: " + byHand)
	}
	return err
}

// endSessions ends the sessions of a login, and says so. A dry run ends none.
func endSessions(ctx context.Context, f *cmdutil.Factory, db *store.DB, l staff.Login) error {
	if f.DryRun {
		return nil
	}
	ended, err := db.Staff.EndSessions(ctx, l)
	if err != nil {
		return &cmdutil.Error{
			Code:    cmdutil.ExitDatabase,
			Message: "the change was made, but sessions of " + l.Name + " may go on",
			Cause:   err,
			Hint: fmt.Sprintf(
				"an administrator can end them in SQL: select pg_terminate_backend(pid) from pg_stat_activity where "+
					"usesysid = %d",
				l.OID,
			),
		}
	}
	if ended > 0 {
		f.Messagef("ended %s of %s", output.Count(ended, "session"), l.Name)
	}
	return nil
}
