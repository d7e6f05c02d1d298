package cmdutil

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
	"petstore.example/internal/store/migrate"
)

// roleAnnotation is the annotation of a command whose role is not petstore_support.
const roleAnnotation = "role"

const (
	// owner is the role annotation of commands for the owner of the tables, administrators that of
	// commands for logins that may make roles.
	owner          = "owner"
	administrators = "administrators"
)

// ForBilling marks a command that petstore_billing may run and petstore_support may not.
// ExplainRights says whom to ask.
func ForBilling(cmd *cobra.Command) *cobra.Command {
	return annotate(cmd, roleAnnotation, admin.BillingRole)
}

// ForOwner marks a command that only the owner of the tables may run.
func ForOwner(cmd *cobra.Command) *cobra.Command { return annotate(cmd, roleAnnotation, owner) }

// ForAdministrators marks a command that needs a login that may make roles.
func ForAdministrators(cmd *cobra.Command) *cobra.Command {
	return annotate(cmd, roleAnnotation, administrators)
}

func annotate(cmd *cobra.Command, key, value string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[key] = value
	return cmd
}

// ExplainRights returns the Error for a command that the login may not run, in terms of the roles
// of docs/roles.md. Other errors are unchanged.
func (f *Factory) ExplainRights(ctx context.Context, cmd *cobra.Command, err error) error {
	notOwner := errors.Is(err, migrate.ErrNotOwner)
	if !notOwner && !store.IsForbidden(err) {
		return err
	}
	isMigration := cmd.HasParent() && cmd.Parent().Name() == "migrate"
	if isMigration && !notOwner && f.db != nil {
		return RefusedErrorf(
			"%v",
			err,
		).WithHint("an administrator makes the roles and the database first: see docs/roles.md")
	}
	login, roles, rolesErr := rolesOf(ctx, f)
	if rolesErr != nil {
		return err
	}
	if len(roles) == 0 && !isMigration {
		return NoRoleError(login)
	}
	role := cmp.Or(cmd.Annotations[roleAnnotation], admin.SupportRole)
	ask := "somebody in " + role
	if role == administrators {
		ask = "an administrator"
	} else if isMigration || role == owner || slices.Contains(roles, role) {
		ask = "somebody who connects as the owner of the tables"
	}
	return RefusedErrorf("your login %s%s may not %s: ask %s", login, inRoles(roles), task(cmd), ask)
}

// NoRoleError is the error of a login without rights.
func NoRoleError(login string) error {
	return RefusedErrorf(
		"your login %s is in none of the roles %s and %s: ask an administrator for one",
		login,
		admin.SupportRole,
		admin.BillingRole,
	)
}

// rolesOf returns the login and its roles. A login that the database does not let in has none.
func rolesOf(ctx context.Context, f *Factory) (login string, roles []string, err error) {
	if f.db != nil {
		l, _, err := f.db.ServerLogin(ctx)
		return l.Name, l.Roles(), err
	}
	source, err := f.FindDatabase()
	return source.Target.Login, nil, err
}

func inRoles(roles []string) string {
	switch len(roles) {
	case 0:
		return ""
	case 1:
		return " is in the role " + roles[0] + ", which"
	}
	return " is in the roles " + strings.Join(roles, " and ") + ", which"
}

// task is what the command does: its short help up to the first comma or colon.
func task(cmd *cobra.Command) string {
	text, _, _ := strings.Cut(cmd.Short, ",")
	text, _, _ = strings.Cut(text, ":")
	return strings.ToLower(text[:1]) + text[1:]
}
