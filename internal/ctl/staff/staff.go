// Package staff holds the commands about the logins of persons.
package staff

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/staff"
	"petstore.example/internal/store"
)

// NewCmd returns the command staff.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("staff", "Manage the logins of persons", newCmdAdd(f, runAdd), newCmdList(f), newCmdRotate(f, runRotate), newCmdRemove(f, runRemove))
}

// View shows a login with its status at an instant.
func View(now time.Time) output.View[staff.Login] {
	return output.View[staff.Login]{
		{Name: "name", Value: func(l staff.Login) any { return l.Name }, InList: true},
		{Name: "roles", Value: func(l staff.Login) any { return l.RoleNames() }, InList: true},
		{Name: "status", Value: func(l staff.Login) any { return l.Status(now) }, InList: true},
		{Name: "expires_at", Value: func(l staff.Login) any { return l.ExpiresAt }, InList: true},
		{Name: "sessions", Value: func(l staff.Login) any { return l.Sessions }, InList: true},
		{Name: "last_change_at", Heading: "LAST CHANGE", Value: func(l staff.Login) any { return l.LastChangeAt }, InList: true},
	}
}

// Issued is a login with its new secret, which is empty after a dry run.
type Issued struct {
	staff.Login
	secret string
}

var secretColumn = output.Column[Issued]{Name: "secret", Value: func(i Issued) any { return i.secret }}

// IssuedView shows a login with its new secret.
var IssuedView = output.View[Issued]{
	{Name: "name", Value: func(i Issued) any { return i.Name }},
	secretColumn,
	{Name: "roles", Value: func(i Issued) any { return i.RoleNames() }},
	{Name: "expires_at", Value: func(i Issued) any { return i.ExpiresAt }},
}

const (
	// secretLifetime is how long a secret is valid without --expires, maxLifetime the longest.
	secretLifetime = 90 * 24 * time.Hour
	maxLifetime    = 366 * 24 * time.Hour
)

// expiresFlag adds --expires.
func expiresFlag(cmd *cobra.Command, f *cmdutil.Factory, at **time.Time) {
	cmdutil.ExpiresFlag(cmd, f, at, "`WHEN` the secret expires: 30d, 2027-01-01 (default: 90d)")
}

// expiry is when a new secret expires.
func expiry(f *cmdutil.Factory, at *time.Time) (time.Time, error) {
	now := f.Now()
	switch {
	case at == nil:
		return now.Add(secretLifetime), nil
	case at.IsZero() || at.Sub(now) > maxLifetime:
		return time.Time{}, cmdutil.UsageErrorf("--expires: a secret is valid for at most a year").WithHint("a new one is made by: petstorectl staff rotate NAME")
	case !at.After(now):
		return time.Time{}, cmdutil.UsageErrorf("--expires is in the past").WithHint("give a time in the future")
	}
	return *at, nil
}

// newSecret returns a secret and what Postgres gets of it.
func newSecret() (secret staff.Secret, verifier string, err error) {
	secret, err = staff.NewSecret()
	if err == nil {
		verifier, err = secret.Verifier()
	}
	return secret, verifier, err
}

// printIssued prints a new secret: alone, unless another format was asked for or a dry run left none to print.
func printIssued(f *cmdutil.Factory, l staff.Login, secret staff.Secret) error {
	i := Issued{Login: l}
	if !f.DryRun {
		f.Messagef("they log in with this command, which asks for the secret:")
		arguments, rootCert := loginArguments(f, l.Name)
		f.Messagef("  petstorectl login %s", arguments)
		if rootCert != "" {
			f.Messagef("they need the file of the CA in their folder: send them %s", rootCert)
		}
		f.Messagef("copy the secret now, it is not shown again:")
		i.secret = secret.Reveal()
	}
	if p := f.Printer(); p.Whole() || f.DryRun {
		return output.Item(p, IssuedView, i)
	}
	_, err := fmt.Fprintln(f.Out, i.secret)
	return err
}

// loginArguments are the arguments of login by which a person reaches the database of this connection, and the file that they name, "" for none.
func loginArguments(f *cmdutil.Factory, login string) (arguments, rootCert string) {
	source, err := f.FindDatabase()
	if err != nil {
		return "URL", ""
	}
	target, err := store.ReadTarget(source.URL)
	if err != nil {
		return "URL", ""
	}
	if rootCert = target.RootCert; rootCert == "system" {
		rootCert = ""
	}
	return "'" + target.URLFor(login) + "'", rootCert
}

// loginArg is the argument NAME of a login that exists.
func loginArg(f *cmdutil.Factory, value *string) cmdutil.Arg {
	return cmdutil.Arg{Name: "NAME", Value: value, Complete: cmdutil.StaffNames(f)}
}

// explain returns the Error for an error of the store. Other errors stay as they are. byHand is the SQL by which an administrator can do
// the same.
func explain(err error, name, byHand string) error {
	var (
		lacks      staff.LacksRightError
		privileged staff.PrivilegedError
		owns       staff.OwnsError
	)
	refused := func(message, hint string) error {
		return &cmdutil.Error{Code: cmdutil.ExitRefused, Message: message, Hint: hint}
	}
	switch {
	case errors.As(err, &lacks):
		if lacks.Lacks != staff.CreateRole {
			byHand = lacks.Statement
		}
		return refused(lacks.Error(), "ask an administrator, who can run in SQL: "+byHand)
	case errors.As(err, &privileged):
		return refused(privileged.Error(), "an administrator changes it in SQL: see docs/roles.md")
	case errors.As(err, &owns):
		return refused(owns.Error(), fmt.Sprintf("an administrator must run there: reassign owned by %s to petstore_owner; drop owned by %[1]s", name))
	case errors.Is(err, staff.ErrOwnLogin):
		return refused("login "+name+" is your own", "ask another administrator")
	case errors.Is(err, staff.ErrExists):
		return refused(fmt.Sprintf("Postgres already has a role %q", name), "choose another name; see: petstorectl staff list")
	case errors.Is(err, staff.ErrNotFound):
		return &cmdutil.Error{
			Code: cmdutil.ExitNotFound, Message: fmt.Sprintf("no login %q in petstore_support or petstore_billing", name), Hint: "see: petstorectl staff list",
		}
	case errors.Is(err, staff.ErrName):
		return cmdutil.UsageErrorf("invalid name of a login").WithHint(
			"a name is 1 to 63 characters of a-z, 0-9 and _, begins with a letter, and not with pg_ or petstore_")
	case store.IsForbidden(err):
		return refused("Postgres does not let your login manage login "+name, "ask an administrator, who can run in SQL: "+byHand)
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
			Code: cmdutil.ExitDatabase, Message: "the change was made, but sessions of " + l.Name + " may go on", Cause: err,
			Hint: fmt.Sprintf("an administrator can end them in SQL: select pg_terminate_backend(pid) from pg_stat_activity where usesysid = %d", l.OID),
		}
	}
	if ended > 0 {
		f.Messagef("ended %s of %s", output.Count(ended, "session"), l.Name)
	}
	return nil
}

func list(ctx context.Context, f *cmdutil.Factory) ([]staff.Login, error) {
	db, err := f.DB(ctx)
	if err != nil {
		return nil, err
	}
	return db.Staff.List(ctx)
}
