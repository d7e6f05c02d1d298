package staff

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/staff"
	"petstore.example/internal/store"
)

type removeOptions struct {
	*cmdutil.Factory

	name string
}

func newCmdRemove(f *cmdutil.Factory, runF func(context.Context, *removeOptions) error) *cobra.Command {
	o := &removeOptions{Factory: f}
	cmd := cmdutil.ForAdministrators(f.ChangeCommand(&cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm"},
		Short:   "Remove a login and end its sessions",
		Long: `Remove the login of a person and end its sessions. Its entries in the audit
trail stay. A login that owns objects of the database is refused.

This needs an administrator: a login that may make roles. See docs/roles.md.
The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl staff remove alice --reason "left the company" --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runF(cmd.Context(), o)
		},
	}, loginArg(f, &o.name)))
	f.YesFlag(cmd)
	return cmd
}

func runRemove(ctx context.Context, o *removeOptions) error {
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	question, err := o.question(ctx, db)
	if tried := actor; err == nil {
		tried.DryRun = true
		_, err = db.Staff.Remove(ctx, tried, o.name)
	}
	if err == nil {
		err = o.Confirm(ctx, question)
	}
	if err != nil {
		return explain(err, o.name, "drop role "+o.name)
	}
	removed, err := db.Staff.Remove(ctx, actor, o.name)
	if err != nil {
		return explain(err, o.name, "drop role "+o.name)
	}
	o.Changedf("removed login %s", removed.Name)
	if err := endSessions(ctx, o.Factory, db, removed); err != nil {
		return err
	}
	return cmdutil.PrintChanged(o.Factory, View(o.Now()), removed)
}

// question says what is lost: the role, and sessions that are open.
func (o *removeOptions) question(ctx context.Context, db *store.DB) (string, error) {
	l, err := db.Staff.Get(ctx, o.name)
	if err != nil {
		return "", err
	}
	return removeQuestion(l), nil
}

func removeQuestion(l staff.Login) string {
	question := fmt.Sprintf("Remove login %s of %s", l.Name, strings.Join(l.RoleNames(), " and "))
	if l.Sessions > 0 {
		question += ", and end " + output.Count(l.Sessions, "session")
	}
	return question + "?"
}
