package usage

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
	"petstore.example/internal/store/billing"
	"petstore.example/internal/usage/closing"
)

// WaivedView shows the usage that was given up.
var WaivedView = output.View[billing.Waived]{
	{Name: "tenant", Value: func(w billing.Waived) any { return w.Tenant }, InList: true},
	{Name: "receiver", Value: func(w billing.Waived) any { return cmp.Or(w.Receiver, "all") }, InList: true},
	{Name: "until", Value: func(w billing.Waived) any { return w.Until }, InList: true},
	{Name: "missing", Value: func(w billing.Waived) any {
		texts := make([]string, len(w.Missing))
		for i, m := range w.Missing {
			texts[i] = cmdutil.MissingText(m)
		}
		return texts
	}},
}

func newCmdWaive(f *cmdutil.Factory) *cobra.Command {
	c := &cmdutil.Change[billing.Waived]{Factory: f, View: WaivedView, Requires: []string{"reason"}}
	var receiver string
	var all bool
	cut := "" // what is said of an --until within an hour
	until := f.Now()
	c.Check = func(cmd *cobra.Command) error {
		switch {
		case all == (receiver != ""):
			return cmdutil.UsageErrorf("for which receiver? Give --receiver RECEIVER, or --all")
		case until.After(f.Now()):
			return cmdutil.UsageErrorf("--until %s is in the future", closing.Time(until))
		}
		if cmd.Flags().Changed("until") && !until.Equal(until.Truncate(time.Hour)) {
			cut = ", the last full hour before " + closing.Time(until.Truncate(time.Second))
		}
		return nil
	}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (billing.Waived, error) {
		return db.Events.Waive(ctx, by, c.Subject.Tenant, receiver, until.Truncate(time.Hour))
	}
	c.Explain = func(ctx context.Context, err error) error {
		if errors.Is(err, billing.ErrReceiverNew) {
			return unknownReceiver(receiver)
		}
		return f.Explain(ctx, err, c.Subject)
	}
	c.Unchanged = func(w billing.Waived) bool { return w.Already }
	c.Notice = func(w billing.Waived) string {
		text := fmt.Sprintf("waived usage of tenant %s before %s", w.Tenant, closing.Time(w.Until)) + cut
		if w.Already {
			return "usage of tenant " + w.Tenant + " before " + closing.Time(w.Until) + " is waived already"
		}
		for _, m := range w.Missing {
			text += "\nnot sent to " + cmdutil.MissingText(m)
		}
		return text
	}
	cmd := c.Command(&cobra.Command{
		Use:   "waive TENANT --receiver RECEIVER --reason TEXT",
		Short: "Give up usage that a billing system does not have",
		Long: `Give up what a receiver does not have of a tenant, such as one that will never
have a billing reference: "usage hand-on" neither sends it nor names it from
then on. What counts to HOUR, or later, is not given up. What was sent stays
sent, and is taken back if it was too much. "tenant show" lists what was given
up.`,
		Example: `  petstorectl usage waive initech --receiver stripe --reason "a trial"
  petstorectl usage waive erased-12 --all --until 2026-11-01 --reason "billed by hand: invoice 1204"`,
	}, cmdutil.TenantArg(f, &c.Subject.Tenant))
	cmdutil.ParsedFlag(cmd, &receiver, "receiver", "", "of `RECEIVER`, the name of its file", parseReceiver)
	cmd.Flags().BoolVar(&all, "all", false, "of every receiver, also of those to come")
	cmdutil.PastFlag(cmd, f, &until, "until", "up to this `HOUR` (default: now)")
	return cmdutil.ForBilling(cmd)
}
