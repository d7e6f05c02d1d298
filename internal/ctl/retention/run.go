package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

const (
	// batch is how many rows are removed in a transaction.
	batch = 5000
	// turnTimeout is how long the command waits for its turn, or for those who read usage, and turnPause how long between two tries.
	turnTimeout = 10 * time.Second
	turnPause   = 50 * time.Millisecond
)

func newCmdRun(f *cmdutil.Factory) *cobra.Command {
	var withAudit bool
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "run",
		Short: "Remove what is older than it is kept, now",
		Long: `Remove what is older than it is kept, as the servers do once a minute. With
--audit also entries of the audit trail, by whole years, which nobody else does:
the hash of the last one stays as the beginning from which audit verify goes on.
Only the owner of the tables may.

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
		if slices.ContainsFunc(due[:i+1], func(r store.Removed) bool { return r.Rows > 0 }) {
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

// sayWaits says which hours are old, but stay for now.
func sayWaits(ctx context.Context, f *cmdutil.Factory, db *store.DB) error {
	rules, err := db.Retention.List(ctx)
	for _, r := range rules {
		if month := waitsFor(r); month != "" {
			f.Messagef("the hours of usage stay until %s is closed: petstorectl usage close --month %s", month, month)
		}
	}
	return err
}

// sum is what is removed, in words.
func sum(list []store.Removed) string {
	var parts []string
	for _, r := range list {
		parts = append(parts, output.Text(r.Rows)+" of "+r.Kind)
	}
	return strings.Join(parts, ", ")
}

// remove removes what is old of a kind, in batches.
func remove(ctx context.Context, f *cmdutil.Factory, db *store.DB, by audit.By, kind string) (rows int64, err error) {
	if kind == store.RetentionAudit {
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
		case (errors.Is(err, store.ErrRetentionBusy) || errors.Is(err, store.ErrRetentionLocked)) && time.Now().Before(until):
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
