package audit

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/store"
)

type listOptions struct {
	*cmdutil.Factory

	filter  store.AuditFilter
	subject string
	list    cmdutil.ListFlags
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List changes, the newest first",
		Long: `List changes, the newest first: those to which all filters apply. The login is
the database role that made the change; the claimed actor is who the caller said
they were (PETSTORE_ACTOR).

A table says what changed. It has the reasons only if it is 100 columns wide.
With -o json and -o csv each change includes its subject before and after it,
and its hash. No entry contains a key, its digest, or a name: only that a name
was changed. The names of tenants are looked up.

` + cmdutil.PastHelp,
		Example: `  petstorectl audit list --tenant acme --since 7d
  petstorectl audit list --login support_jo --action plan
  petstorectl audit list --action ban.lift --since 2026-11-01 --until 2026-12-01 -o csv`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), o) },
	})
	addFilters(cmd, o)
	o.list.Add(cmd, cmdutil.DefaultLimit)
	o.list.AddAfterNumber(cmd, &o.filter.After, "the change with this `NUMBER`")
	return cmd
}

// addFilters adds the flags that select changes.
func addFilters(cmd *cobra.Command, o *listOptions) {
	f := o.Factory
	cmdutil.TenantFlag(cmd, f, &o.filter.Tenant)
	cmdutil.PastFlag(cmd, f, &o.filter.Since, "since", "only changes made at `WHEN` or later, such as 7d")
	cmdutil.PastFlag(cmd, f, &o.filter.Until, "until", "only changes made before `WHEN`")
	textFlag(cmd, &o.filter.Login, "login", "only changes made with this `LOGIN`")
	textFlag(cmd, &o.filter.Actor, "actor", "only changes made by this claimed `ACTOR`")
	textFlag(cmd, &o.filter.Action, "action", "only this `ACTION`: plan.assign, or plan for all of it", audit.Actions()...)
	textFlag(cmd, &o.subject, "subject", "only changes to this `SUBJECT`: a key's ID, tenant:12")
}

// query is the filter of the flags.
func (o *listOptions) query() (filter store.AuditFilter, err error) {
	filter = o.filter
	if !filter.Until.IsZero() && !filter.Since.Before(filter.Until) {
		return filter, cmdutil.UsageErrorf("--since is not before --until")
	}
	if o.subject != "" {
		filter.Subjects = []string{o.subject}
	}
	return filter, nil
}

func textFlag(cmd *cobra.Command, value *string, name, usage string, completions ...string) {
	cmdutil.TextFlag(cmd, value, name, usage, cmdutil.MaxSearch, completions...)
}

func runList(ctx context.Context, o *listOptions) error {
	filter, err := o.query()
	if err != nil {
		return err
	}
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	filter.Limit = o.list.Query(o.Factory)
	empty := "no changes recorded"
	if o.list.Filtered("since", "until", "login", "actor", "action", "subject") {
		empty = "no change matches"
	}
	v := View
	if format := o.Printer().Format; format == "table" || format == "" {
		v = TableView(o.Printer())
	}
	err = cmdutil.PrintStream(o.Factory, v, db.Audit.List(ctx, filter), &o.list,
		func(e audit.Entry) string { return strconv.FormatInt(e.Number, 10) }, empty)
	if errors.Is(err, store.ErrEntryNotFound) {
		return &cmdutil.Error{
			Code: cmdutil.ExitNotFound, Message: fmt.Sprintf("the audit trail has no entry %d", filter.After), Hint: "begin again without --after",
		}
	}
	return o.Explain(ctx, err, cmdutil.Subject{Tenant: filter.Tenant})
}
