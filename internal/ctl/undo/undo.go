// Package undo holds the command that takes changes back.
package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type options struct {
	*cmdutil.Factory

	cmd     *cobra.Command
	numbers []int64
}

// NewCmd returns the command undo.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	var number string
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "undo [AUDIT-ID|FROM-TO...]",
		Short: "Take a change back",
		Long: `Take a change back: make the state from before it again, by a new change. Every
command that changes something prints the number to give here. FROM-TO is a
change of many items: all are taken back or none. Without a number it is the
latest change of your login that was not taken back.

What a later change of the same stands upon is refused, and so is what can't be
taken back, such as a closed month: the error says why. A revoked key can be
brought back for 15 minutes, by the login that revoked it or by the owner of the
database. Other changes can be taken back for 30 days. An undo is a change too,
and can be taken back.

The command asks for confirmation without a number, for more than one entry, and
if it revokes or bans a key or suspends a tenant, then for the name of a tenant
that called today. Scripts need --yes.`,
		Example: `  petstorectl undo 4711 --dry-run
  petstorectl undo 4711 --reason "wrong customer"
  petstorectl undo 4711-4760 --yes`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.cmd = cmd
			if o.numbers, err = parseNumbers(args); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}, cmdutil.Arg{Name: "AUDIT-ID|FROM-TO", Value: &number, Complete: cmdutil.ChangeNumbers(f)}.Repeated())
	f.YesFlag(cmd)
	return cmd
}

func run(ctx context.Context, o *options) error {
	by, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	numbers := o.numbers
	if len(numbers) == 0 {
		if numbers, err = db.Undos.Latest(ctx); err != nil {
			return o.explainLatest(err)
		}
	}
	dry := by
	dry.DryRun = true
	undone, err := db.Undos.Do(ctx, dry, numbers, o.Now())
	if err != nil {
		return o.explain(ctx, err)
	}
	items := itemsOf(undone, nil)
	if !o.DryRun {
		if err := o.ask(ctx, db, items); err != nil {
			return err
		}
		var entries audit.Numbers
		by.Entries = &entries
		if undone, err = db.Undos.Do(ctx, by, numbers, o.Now()); err != nil {
			return o.explain(ctx, err)
		}
		items = itemsOf(undone, entries)
	}
	o.say(items)
	if len(numbers) == 1 && len(items) == 1 {
		return cmdutil.PrintChanged(o.Factory, View, items[0])
	}
	return cmdutil.PrintChangedList(o.Factory, View, items)
}

// mostShown is how many changes a question and a report show.
const mostShown = 20

// ask shows what is to be done and asks, if it is more than one harmless change that was named.
func (o *options) ask(ctx context.Context, db *store.DB, items []item) error {
	var harmed []string
	for _, i := range items {
		if i.harms() {
			harmed = append(harmed, i.Entry.TenantName)
		}
	}
	if len(o.numbers) == 1 && len(harmed) == 0 {
		return nil
	}
	used := map[string]int64{}
	if len(harmed) > 0 {
		var err error
		if used, err = db.Usage.TenantsSince(ctx, harmed, o.Now().Truncate(24*time.Hour)); err != nil {
			return err
		}
	}
	q := cmdutil.Question{Text: "Make this change?", Word: cmdutil.WordFor(used)}
	if len(items) > 1 {
		q.Text = fmt.Sprintf("Make these %d changes?", len(items))
	}
	for n, i := range items {
		if n == mostShown {
			q.Facts = append(q.Facts, fmt.Sprintf("and %d more", len(items)-n))
			break
		}
		fact := fmt.Sprintf("entry %d (%s): %s", i.Entry.Number, i.Entry.Action, i.sentence())
		if i.harms() {
			fact += fmt.Sprintf(": %s requests of the tenant today", output.Thousands(used[i.Entry.TenantName]))
		}
		q.Facts = append(q.Facts, fact)
	}
	return cmdutil.Ask(ctx, o.Factory, q)
}

// say reports what was done.
func (o *options) say(items []item) {
	for n, i := range items {
		if n == mostShown {
			o.Messagef("and %d more", len(items)-n)
			break
		}
		text := fmt.Sprintf("undone entry %d (%s): %s", i.Entry.Number, i.Entry.Action, i.sentence())
		if o.DryRun {
			text = "would have " + text
		}
		o.Messagef("%s", text)
	}
	if o.DryRun {
		o.Messagef("dry run: nothing was changed")
	}
}

func (o *options) explainLatest(err error) error {
	if !errors.Is(err, store.ErrEntryNotFound) {
		return err
	}
	return &cmdutil.Error{
		Code: cmdutil.ExitNotFound, Message: "none of the latest changes of your login can be taken back", Hint: "see: petstorectl audit list",
	}
}

// explain returns the error of an entry that is not taken back.
func (o *options) explain(ctx context.Context, err error) error {
	refused := (*store.UndoError)(nil)
	switch {
	case errors.Is(err, store.ErrEntryNotFound):
		return &cmdutil.Error{Code: cmdutil.ExitNotFound, Message: "the audit trail has no such entry: " + numberIn(err), Hint: "see: petstorectl audit list"}
	case !errors.As(err, &refused):
		return err
	case store.IsForbidden(err):
		if isOfBilling(refused.Entry) {
			cmdutil.ForBilling(o.cmd)
		}
		return err
	case !store.IsServerError(err) && refused.Err == nil:
		return &cmdutil.Error{Code: cmdutil.ExitRefused, Message: refused.Error(), Hint: refused.Hint}
	}
	e := refused.Entry
	explained := (*cmdutil.Error)(nil)
	if cause := o.Explain(ctx, refused.Err, cmdutil.Subject{Tenant: e.TenantName, Key: e.Subject, Plan: planOf(e)}); !errors.As(cause, &explained) {
		return &cmdutil.Error{Code: cmdutil.ExitRefused, Message: refused.Error(), Hint: refused.Hint}
	}
	return &cmdutil.Error{
		Code: explained.Code, Message: fmt.Sprintf("entry %d (%s) can't be undone: %s", e.Number, e.Action, explained.Message),
		Hint: cmp.Or(refused.Hint, explained.Hint),
	}
}
