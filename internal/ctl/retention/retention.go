// Package retention holds the commands about how long data is kept.
package retention

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
)

// NewCmd returns the command retention.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup(
		"retention",
		"Manage how long old things are kept",
		newCmdList(f),
		newCmdSet(f),
		newCmdRun(f),
	)
}

// View shows how long a kind is kept.
var View = output.View[admin.RetentionRule]{
	{Name: "kind", InList: true, Value: func(r admin.RetentionRule) any { return r.Kind }},
	{Name: "keep", InList: true, Value: func(r admin.RetentionRule) any { return length(r.Keep) }},
	{Name: "least", InList: true, Value: func(r admin.RetentionRule) any { return length(r.Least) }},
	{Name: "begins_at", InList: true, Value: func(r admin.RetentionRule) any { return r.BeginsAt }},
	{Name: "last_run_at", InList: true, Value: func(r admin.RetentionRule) any { return r.RunAt }},
	{Name: "removed", InList: true, Value: func(r admin.RetentionRule) any { return r.Removed }},
	{Name: "waits_for", InList: true, Value: func(r admin.RetentionRule) any { return waitsFor(r) }},
}

// RemovedView shows what was removed.
var RemovedView = output.View[admin.Removed]{
	{Name: "kind", InList: true, Value: func(r admin.Removed) any { return r.Kind }},
	{Name: "rows", InList: true, Value: func(r admin.Removed) any { return r.Rows }},
}

// length is a length of time in the form that the flags take.
func length(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d%day == 0:
		return strconv.FormatInt(int64(d/day), 10) + "d"
	case d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	}
	return d.String()
}

func waitsFor(r admin.RetentionRule) string {
	if r.WaitsFor.IsZero() {
		return ""
	}
	return r.WaitsFor.Format("2006-01")
}

// kinds are the kinds of data whose time can be set.
var kinds = []string{
	admin.RetentionAudit,
	admin.RetentionBans,
	admin.RetentionKeys,
	admin.RetentionFailed,
	admin.RetentionUsage,
}

func explain(err error, kind string) error {
	switch {
	case errors.Is(err, admin.ErrNoRetention):
		return cmdutil.NotFoundErrorf(
			"there is no kind %s",
			kind,
		).WithHint("the kinds are " + strings.Join(kinds, ", "))
	case errors.Is(err, admin.ErrRetentionTooShort):
		return cmdutil.UsageErrorf(
			"%s can't be kept that short",
			kind,
		).WithHint("see the column least of petstorectl retention list")
	case errors.Is(err, admin.ErrRetentionBusy):
		return cmdutil.RefusedErrorf("a server is deleting expired rows at the moment").WithHint("try again later")
	case errors.Is(err, admin.ErrRetentionLocked):
		return cmdutil.RefusedErrorf("hours are summed, but stay: other sessions read usage, such as pg_dump").
			WithHint("try again when they have ended; servers try every minute")
	}
	return err
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	return (&cmdutil.List[admin.RetentionRule]{
		Factory: f, All: true, View: func() output.View[admin.RetentionRule] { return View },
		Rows: func(ctx context.Context, db *store.DB, _ int) (iter.Seq2[admin.RetentionRule, error], error) {
			rules, err := db.Retention.List(ctx)
			return cmdutil.Items(rules), err
		},
	}).Command(&cobra.Command{
		Use:   "list",
		Short: "List how long each kind is kept",
		Long: `List how long each kind of rows is kept (keep), and the least that can be set.
Servers delete older rows once a minute: last_run_at is when none was left, and
removed counts the deleted rows. Hours of usage are summed into days after their
month is closed: waits_for is a month that is still open.

Entries of the audit trail are removed by the owner only, with retention run.`,
		Example: `  petstorectl retention list
  petstorectl retention list -o json`,
	})
}

func newCmdSet(f *cmdutil.Factory) *cobra.Command {
	var (
		kind, text string
		keep       time.Duration
	)
	c := &cmdutil.Change[admin.RetentionRule]{Factory: f, View: View}
	c.Check = func(*cobra.Command) (err error) {
		if keep, err = cmdutil.ParseDuration(text); err != nil {
			return cmdutil.UsageErrorf("%v", err)
		}
		if !slices.Contains(kinds, kind) {
			err = explain(admin.ErrNoRetention, kind)
		}
		return err
	}
	c.Question = func(context.Context, *store.DB, admin.RetentionRule) (cmdutil.Question, error) {
		return cmdutil.Question{Text: fmt.Sprintf("Keep %s for %s, and delete older rows?", kind, length(keep))}, nil
	}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (admin.RetentionRule, error) {
		return db.Retention.Set(ctx, by, kind, keep)
	}
	c.Explain = func(_ context.Context, err error) error { return explain(err, kind) }
	c.Notice = func(r admin.RetentionRule) string { return fmt.Sprintf("%s is kept for %s", r.Kind, length(r.Keep)) }
	return c.Command(&cobra.Command{
		Use:   "set KIND LENGTH",
		Short: "Set how long a kind of rows is kept",
		Long: `Set how long a kind is kept, in days or hours such as 90d. With a shorter time,
servers delete older rows within a minute, and nothing brings them back. Only
the owner of the tables may.

The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl retention set bans 730d --reason "contract 2027"
  petstorectl retention set failed_requests 12h --yes`,
	}, cmdutil.Arg{Name: "KIND", Value: &kind, Complete: completeKinds}, cmdutil.Arg{Name: "LENGTH", Value: &text})
}

func completeKinds(_ context.Context, prefix string, _ int) (found []string, err error) {
	for _, k := range kinds {
		if strings.HasPrefix(k, prefix) {
			found = append(found, k)
		}
	}
	return found, nil
}

const (
	// batch is the number of rows removed in a transaction.
	batch = 5000
	// turnTimeout is how long the command waits for its turn, or for readers of usage. turnPause is
	// the time between two tries.
	turnTimeout = 10 * time.Second
	turnPause   = 50 * time.Millisecond
)

func newCmdRun(f *cmdutil.Factory) *cobra.Command {
	var withAudit bool
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "run",
		Short: "Delete expired rows now",
		Long: `Delete expired rows now. Servers also do this every minute. With --audit the
command also deletes whole years of the audit trail, which servers never do. The
hash of the last deleted entry stays: audit verify begins there. Only the owner
of the tables may.

--dry-run counts what would be removed. The command asks for confirmation;
scripts need --yes.`,
		Example: `  petstorectl retention run --audit --dry-run
  petstorectl retention run --audit --reason "yearly, by the rule of 7 years" --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRun(cmd.Context(), f, withAudit) },
	})
	cmd.Flags().BoolVar(&withAudit, "audit", false, "also remove old entries of the audit trail")
	f.YesFlag(cmd)
	return cmdutil.SetColumns(cmd, RemovedView.Names())
}

func runRun(ctx context.Context, f *cmdutil.Factory, withAudit bool) error {
	f.CallTimeout = cmdutil.NoTimeLimit
	by, db, err := f.BeginChange(ctx)
	if err != nil {
		return err
	}
	due, err := db.Retention.Due(ctx)
	if err != nil {
		return err
	}
	if !withAudit {
		due = due[1:]
	}
	if f.DryRun {
		f.Messagef("would remove %s", sum(due))
		return cmdutil.PrintChangedList(f, RemovedView, due)
	}
	if err := f.Confirm(ctx, fmt.Sprintf("Remove %s?", sum(due))); err != nil {
		return err
	}
	for i := range due {
		if due[i].Rows, err = remove(ctx, f, db, by, due[i].Kind); err == nil {
			continue
		}
		if slices.ContainsFunc(due[:i+1], func(r admin.Removed) bool { return r.Rows > 0 }) {
			f.Messagef("removed %s", sum(due[:i+1]))
		}
		return explain(err, due[i].Kind)
	}
	f.Messagef("removed %s", sum(due))
	if err := sayWaits(ctx, f, db); err != nil {
		return err
	}
	return cmdutil.PrintChangedList(f, RemovedView, due)
}

// sayWaits says which hours are old but stay for now.
func sayWaits(ctx context.Context, f *cmdutil.Factory, db *store.DB) error {
	rules, err := db.Retention.List(ctx)
	for _, r := range rules {
		if month := waitsFor(r); month != "" {
			f.Messagef("the hours of usage stay until %s is closed: petstorectl usage close --month %s", month, month)
		}
	}
	return err
}

// sum says what is removed, in words.
func sum(list []admin.Removed) string {
	var parts []string
	for _, r := range list {
		parts = append(parts, output.Text(r.Rows)+" of "+r.Kind)
	}
	return strings.Join(parts, ", ")
}

// remove removes expired data of a kind, in batches.
func remove(ctx context.Context, f *cmdutil.Factory, db *store.DB, by audit.By, kind string) (rows int64, err error) {
	if kind == admin.RetentionAudit {
		done, err := db.Retention.RemoveAudit(ctx, by)
		if err == nil && done.Entries > 0 {
			f.Changedf("the audit trail begins after %s", done.Begin)
		}
		return done.Entries, err
	}
	for until := time.Now().Add(turnTimeout); ; {
		n, more, err := db.Retention.Prune(ctx, kind, batch)
		rows += int64(n)
		switch {
		case (errors.Is(err, admin.ErrRetentionBusy) || errors.Is(err, admin.ErrRetentionLocked)) &&
			time.Now().Before(until):
			select {
			case <-ctx.Done():
				return rows, ctx.Err()
			case <-time.After(turnPause):
			}
		case err != nil || !more:
			return rows, err
		default:
			until = time.Now().Add(turnTimeout)
		}
	}
}
