package usage

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
	"petstore.example/internal/store/billing"
	"petstore.example/internal/usage/closing"
)

const (
	// standardWait is twice the time that an idle server takes to report what it has delivered.
	standardWait = 2 * time.Minute
	// waitStep is the time between two looks.
	waitStep = time.Second
)

type closeOptions struct {
	*cmdutil.Factory

	month   cmdutil.Period
	without []string
	wait    time.Duration
}

func newCmdClose(f *cmdutil.Factory) *cobra.Command {
	o := &closeOptions{Factory: f, wait: standardWait}
	cmd := cmdutil.ForBilling(cmdutil.ClosedMonthFlag(f, f.ChangeCommand(&cobra.Command{
		Use:   "close --month MONTH",
		Short: "Close a month: seal what was used in it",
		Long: `Close a UTC month. Its lines are sealed with one SHA-256, which also goes into
the audit trail. From then on "usage export" prints the same for ever, and what
arrives later is a correction in the month that is open then.

The command waits until every server has delivered what it admitted in the
month. If one does not, it is named and nothing is closed. A server that is
frozen or can't reach the database delivers when it is back. If its process has
ended, what it had not recorded is lost: close the month --without it.`,
		Example: `  petstorectl usage close --month 2026-10
  petstorectl usage close --month 2026-10 --dry-run
  petstorectl usage close --month 2026-10 --without d4s6v8qk3m5t0b2n7c1g --reason "disk of api-3 lost"`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runClose(cmd.Context(), o) },
	}), &o.month))
	cmd.Flags().StringSliceVar(&o.without, "without", nil, "close without `SERVER`, which is gone; repeatable")
	cmdutil.CompleteFlag(cmd, "without")
	cmdutil.ParsedFlag(cmd, &o.wait, "wait", "", "wait for servers this `LONG`: 0, 30s, 10m (default 2m)", parseWait)
	return cmdutil.SetColumns(cmd, MonthView.Names())
}

func parseWait(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	return cmdutil.ParseDuration(text)
}

// MonthView shows a closed month.
var MonthView = output.View[billing.Month]{
	{Name: "month", Value: func(m billing.Month) any { return m.Month.Format("2006-01") }, InList: true},
	{Name: "tenants", Value: func(m billing.Month) any { return m.Sums.Tenants }, InList: true},
	{Name: "lines", Value: func(m billing.Month) any { return m.Sums.Lines }, InList: true},
	{Name: "admitted", Value: func(m billing.Month) any { return m.Sums.Admitted }, InList: true},
	{Name: "refused", Value: func(m billing.Month) any { return m.Sums.Refused }, InList: true},
	{Name: "sha256", Value: func(m billing.Month) any { return m.Sums.SHA256.String() }, InList: true},
	{Name: "format", Value: func(m billing.Month) any { return m.Format }, InList: true},
	{Name: "without", Value: func(m billing.Month) any { return m.Without }, InList: true},
	{Name: "closed_at", Value: func(m billing.Month) any { return m.SealedAt }, InList: true},
	{Name: "closed_by", Value: func(m billing.Month) any { return m.SealedBy }, InList: true},
	{Name: "overage", Value: func(m billing.Month) any { return m.Sums.Overage }, InList: true},
}

func runClose(ctx context.Context, o *closeOptions) error {
	if o.Now().Before(o.month.To) {
		return cmdutil.RefusedErrorf(
			"%s has not ended",
			o.month.Month(),
		).WithHint("it can be closed from " + closing.Time(o.month.To) + " on")
	}
	o.CallTimeout = cmdutil.NoTimeLimit
	_, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	month, err := db.Months.Get(ctx, o.month.From)
	switch {
	case err == nil && month.Sealed():
		return o.closed(month)
	case err == nil:
		for _, id := range o.without {
			if !slices.Contains(month.Without, id) {
				return cmdutil.RefusedErrorf("closing %s has begun, and not without %.80q", o.month.Month(), id).
					WithHint("omit --without " + id)
			}
		}
		o.Messagef("closing %s was interrupted: its lines are sealed now", o.month.Month())
		o.without = month.Without
	case errors.Is(err, billing.ErrMonthOpen):
		if err := o.await(ctx, db); err != nil {
			return err
		}
	default:
		return err
	}
	return cmdutil.Change[billing.Month]{
		Do: func(ctx context.Context, db *store.DB, by audit.By) (billing.Month, error) {
			m, err := db.Months.Close(ctx, by, o.month.From, o.without)
			return m, o.explain(ctx, db, err)
		},
		Notice: func(m billing.Month) string {
			n := output.Thousands
			return fmt.Sprintf(
				"closed %s: %s of %s, %s admitted and %s refused%s\nSHA-256 %s",
				o.month.Month(),
				output.Count(
					m.Sums.Lines,
					"line",
				),
				output.Count(m.Sums.Tenants, "tenant"),
				n(m.Sums.Admitted),
				n(m.Sums.Refused),
				overageText(m.Sums),
				m.Sums.SHA256,
			)
		},
		View: MonthView,
	}.Run(ctx, o.Factory)
}

func (o *closeOptions) closed(m billing.Month) error {
	return cmdutil.RefusedErrorf("%s was closed at %s by %s", o.month.Month(), closing.Time(m.SealedAt), m.SealedBy).
		WithHint("see: petstorectl usage verify --month " + o.month.Month())
}

// explain says what to do about a month that can't be closed.
func (o *closeOptions) explain(ctx context.Context, db *store.DB, err error) error {
	switch {
	case errors.Is(err, billing.ErrMonthNotEnded):
		return cmdutil.RefusedErrorf(
			"%s has not ended by the clock of the database",
			o.month.Month(),
		).WithHint("check this machine's clock: petstorectl doctor")
	case errors.Is(err, billing.ErrMonthClosed):
		m, getErr := db.Months.Get(ctx, o.month.From)
		if getErr != nil {
			return getErr
		}
		return o.closed(m)
	case errors.Is(err, billing.ErrEarlierMonthOpen):
		open, openErr := db.Months.OpenBefore(ctx, o.month.From)
		if openErr != nil {
			return openErr
		}
		return o.earlier(open)
	case errors.Is(err, billing.ErrLaterMonthClosed):
		return cmdutil.RefusedErrorf("%s can't be closed: a later month is closed", o.month.Month()).
			WithHint("what is recorded of it is a correction in a later month: petstorectl usage export")
	}
	return err
}

func (o *closeOptions) earlier(open time.Time) error {
	month := open.Format("2006-01")
	return cmdutil.RefusedErrorf(
		"%s has usage and is open",
		month,
	).WithHint("close it first: petstorectl usage close --month " + month)
}

// await waits until every server has delivered the month.
func (o *closeOptions) await(ctx context.Context, db *store.DB) error {
	open, err := db.Months.OpenBefore(ctx, o.month.From)
	if err != nil {
		return err
	}
	if !open.IsZero() {
		return o.earlier(open)
	}
	waited, said := time.Duration(0), ""
	for {
		list, err := db.Months.Undelivered(ctx, o.month.To)
		if err != nil {
			return err
		}
		missing, err := o.missing(list)
		if err != nil || len(missing) == 0 {
			return err
		}
		if waited >= o.wait || o.DryRun {
			return o.undelivered(missing)
		}
		if text := servers(missing); text != said {
			said = text
			o.Messagef("waiting for usage before %s, at most %v: %s", closing.Time(o.month.To), o.wait-waited, text)
		}
		select {
		case <-time.After(waitStep):
			waited += waitStep
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// missing is the list without the servers that --without names. It refuses a name that is not on
// the list.
func (o *closeOptions) missing(list []billing.Delivery) ([]billing.Delivery, error) {
	for _, id := range o.without {
		if !slices.ContainsFunc(list, func(d billing.Delivery) bool { return d.ServerID == id }) {
			return nil, cmdutil.RefusedErrorf(
				"no server %.80q has still to deliver usage of %s",
				id,
				o.month.Month(),
			).WithHint("omit --without " + id + "; " + known(list))
		}
	}
	return slices.DeleteFunc(
		slices.Clone(list),
		func(d billing.Delivery) bool { return slices.Contains(o.without, d.ServerID) },
	), nil
}

// known names the servers that --without may name.
func known(list []billing.Delivery) string {
	if len(list) == 0 {
		return "no server is waited for"
	}
	ids := make([]string, len(list))
	for i, d := range list {
		ids[i] = d.ServerID
	}
	return "the servers that are waited for: " + strings.Join(ids, ", ")
}

// servers says how much each server has delivered.
func servers(list []billing.Delivery) string {
	texts := make([]string, len(list))
	for i, d := range list {
		texts[i] = "server " + d.ServerID + " has delivered nothing yet"
		if !d.To.IsZero() {
			texts[i] = "server " + d.ServerID + " has delivered up to " + closing.Time(d.To.Truncate(time.Second))
		}
	}
	return strings.Join(texts, ", ")
}

func (o *closeOptions) undelivered(missing []billing.Delivery) error {
	args := ""
	for _, d := range missing {
		args += " --without " + d.ServerID
	}
	return cmdutil.RefusedErrorf("%s can't be closed: %s", o.month.Month(), servers(missing)).
		WithHint(
			"wait until it is back; if its process has ended, close without it: petstorectl usage close --month " +
				o.month.Month() + args,
		)
}
