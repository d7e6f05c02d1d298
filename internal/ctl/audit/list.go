package audit

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/trail"
)

// filterFlags adds the flags that select changes.
func filterFlags(cmd *cobra.Command, f *cmdutil.Factory, a *trail.Filter, subject *string) {
	cmdutil.TenantFlag(cmd, f, &a.Tenant)
	cmdutil.PastFlag(cmd, f, &a.Since, "since", "only changes made at `WHEN` or later, such as 7d")
	cmdutil.PastFlag(cmd, f, &a.Until, "until", "only changes made before `WHEN`")
	textFlag(cmd, &a.Login, "login", "only changes made with this `LOGIN`")
	textFlag(cmd, &a.Actor, "actor", "only changes made by this claimed `ACTOR`")
	textFlag(cmd, &a.Action, "action", "only this `ACTION`: plan.assign, or plan for all of it", audit.Actions()...)
	textFlag(cmd, subject, "subject", "only changes to this `SUBJECT`: a key's ID, tenant:12")
}

func checkFilter(f *cmdutil.Factory, a *trail.Filter, subject string) error {
	if subject != "" {
		a.Subjects = []string{subject}
	}
	if a.OldestFirst {
		f.CallTimeout = cmdutil.NoTimeLimit // The list may be the whole trail.
	}
	if !a.Until.IsZero() && !a.Since.Before(a.Until) {
		return cmdutil.UsageErrorf("--since is not before --until")
	}
	return nil
}

func textFlag(cmd *cobra.Command, value *string, name, usage string, completions ...string) {
	cmdutil.TextFlag(cmd, value, name, usage, cmdutil.MaxSearch, completions...)
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	var (
		filter  trail.Filter
		subject string
	)
	l := &cmdutil.List[audit.Entry]{
		Factory: f, Empty: "no changes recorded", NoMatch: "no change matches",
		Filters: []string{"since", "until", "login", "actor", "action", "subject"},
		After:   func(e audit.Entry) string { return strconv.FormatInt(e.Number, 10) },
	}
	l.Check = func() error { return checkFilter(f, &filter, subject) }
	l.Rows = func(ctx context.Context, db *store.DB, limit int) (iter.Seq2[audit.Entry, error], error) {
		filter.Limit = limit
		return db.Audit.List(ctx, filter), nil
	}
	l.View = func() output.View[audit.Entry] {
		if p := f.Printer(); p.Format == "table" || p.Format == "" {
			return TableView(p)
		}
		return View
	}
	l.Explain = func(ctx context.Context, err error) error {
		if errors.Is(err, trail.ErrEntryNotFound) {
			return notFound(filter.After, "begin again without --after")
		}
		return f.Explain(ctx, err, cmdutil.Subject{Tenant: filter.Tenant})
	}
	cmd := l.Command(&cobra.Command{
		Use:   "list",
		Short: "List changes, the newest first",
		Long: `List changes, the newest first: those to which all filters apply. The login is
the database role that made the change; the claimed actor is who the caller said
they were (PETSTORE_ACTOR).

A table says what changed. It has the reasons only if it is 100 columns wide.
With -o json and -o csv each change includes its subject before and after it,
and its hash. No entry contains a key, its digest, or a name: only that a name
was changed. The names of tenants are looked up.

With --oldest-first -o jsonl it is an export: docs/audit.md has a program that
verifies one without petstorectl.

` + cmdutil.PastHelp,
		Example: `  petstorectl audit list --tenant acme --since 7d
  petstorectl audit list --login support_jo --action plan
  petstorectl audit list --action ban.lift --since 2026-11-01 --until 2026-12-01 -o csv
  petstorectl audit list --oldest-first -o jsonl > audit.jsonl`,
	})
	filterFlags(cmd, f, &filter, &subject)
	cmd.Flags().BoolVar(&filter.OldestFirst, "oldest-first", false, "begin with the oldest change")
	cmdutil.NumberFlag(cmd, &filter.After, "after", "begin after the change with this `NUMBER`")
	return cmdutil.SetColumns(cmd, View.Names())
}

func notFound(number int64, hint string) error {
	return cmdutil.NotFoundErrorf("the audit trail has no entry %d", number).WithHint(hint)
}
