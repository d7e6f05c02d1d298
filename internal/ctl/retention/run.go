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

type runOptions struct {
	*cmdutil.Factory

	audit bool
}

func newCmdRun(f *cmdutil.Factory) *cobra.Command {
	o := &runOptions{Factory: f}
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runRun(cmd.Context(), o)
		},
	})
	cmd.Flags().BoolVar(&o.audit, "audit", false, "also remove old entries of the audit trail")
	f.YesFlag(cmd)
	return cmd
}

func runRun(ctx context.Context, o *runOptions) error {
	o.CallTimeout = cmdutil.NoTimeLimit
	by, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	due, err := db.Retention.Due(ctx)
	if err != nil {
		return err
	}
	if !o.audit {
		due = due[1:]
	}
	if o.DryRun {
		o.Messagef("would remove %s", sum(due))
		return cmdutil.PrintChangedList(o.Factory, RemovedView, due)
	}
	if err := o.Confirm(ctx, fmt.Sprintf("Remove %s?", sum(due))); err != nil {
		return err
	}
	for i := range due {
		if due[i].Rows, err = o.remove(ctx, db, by, due[i].Kind); err == nil {
			continue
		}
		if slices.ContainsFunc(due[:i+1], func(r store.Removed) bool { return r.Rows > 0 }) {
			o.Messagef("removed %s", sum(due[:i+1]))
		}
		return explain(err, due[i].Kind)
	}
	o.Messagef("removed %s", sum(due))
	if err := o.sayWaits(ctx, db); err != nil {
		return err
	}
	return cmdutil.PrintChangedList(o.Factory, RemovedView, due)
}

// sayWaits says which hours are old, but stay for now.
func (o *runOptions) sayWaits(ctx context.Context, db *store.DB) error {
	rules, err := db.Retention.List(ctx)
	for _, r := range rules {
		if month := waitsFor(r); month != "" {
			o.Messagef("the hours of usage stay until %s is closed: petstorectl usage close --month %s", month, month)
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
func (o *runOptions) remove(ctx context.Context, db *store.DB, by audit.By, kind string) (rows int64, err error) {
	if kind == store.RetentionAudit {
		done, err := db.Retention.RemoveAudit(ctx, by)
		if err == nil && done.Entries > 0 {
			o.Changedf("the audit trail begins after %s", done.Begin)
		}
		return done.Entries, err
	}
	for until := time.Now().Add(turnTimeout); ; {
		n, more, err := db.Retention.Prune(ctx, kind, batch)
		rows += int64(n)
		switch {
		case (errors.Is(err, store.ErrRetentionBusy) || errors.Is(err, store.ErrRetentionLocked)) && time.Now().Before(until):
			if err := wait(ctx, turnPause); err != nil {
				return rows, err
			}
		case err != nil || !more:
			return rows, err
		default:
			until = time.Now().Add(turnTimeout)
		}
	}
}

func wait(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}
