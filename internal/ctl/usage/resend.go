package usage

import (
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

// ResentView shows what was moved.
var ResentView = output.View[billing.Resent]{
	{Name: "tenant", Value: func(r billing.Resent) any { return r.Tenant }, InList: true},
	{Name: "billing_ref", Value: func(r billing.Resent) any { return r.Ref }, InList: true},
	{Name: "hours", Value: func(r billing.Resent) any { return r.Hours }, InList: true},
	{Name: "admitted", Value: func(r billing.Resent) any { return r.Admitted }, InList: true},
	{Name: "hours_left_out", Value: func(r billing.Resent) any { return int64(len(r.LeftOut)) }, InList: true},
}

// checkPast refuses hours in the future.
func checkPast(q billing.ResendQuery) error {
	for name, at := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if at.After(q.Now) {
			return cmdutil.UsageErrorf("--%s %s is in the future", name, closing.Time(at))
		}
	}
	return nil
}

// unknownReceiver is the error for a receiver whose first hour nobody has named.
func unknownReceiver(name string) error {
	return cmdutil.NotFoundErrorf("unknown receiver %s: it has got nothing yet", name).
		WithHint(fmt.Sprintf("check the name, or begin with: petstorectl usage hand-on %s.receiver --from HOUR", name))
}

func newCmdResend(f *cmdutil.Factory) *cobra.Command {
	c := &cmdutil.Change[billing.Resent]{
		Factory:  f,
		View:     ResentView,
		Requires: []string{"receiver", "since", "reason"},
	}
	q := billing.ResendQuery{Until: f.Now(), Now: f.Now()}
	c.Check = func(*cobra.Command) error { return checkPast(q) }
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (billing.Resent, error) {
		q.Tenant, q.Since, q.Until = c.Subject.Tenant, q.Since.Truncate(time.Hour), q.Until.Truncate(time.Hour)
		return db.Events.Resend(ctx, by, q)
	}
	c.Explain = func(ctx context.Context, err error) error {
		switch {
		case errors.Is(err, billing.ErrReceiverNew):
			return unknownReceiver(q.Receiver)
		case errors.Is(err, billing.ErrNoReference):
			return cmdutil.RefusedErrorf("%v to which its usage could be moved", err).
				WithHint("set one: petstorectl tenant edit TENANT --billing-ref REF")
		}
		return (&eventsOptions{Factory: f, tenant: q.Tenant}).explain(ctx, err)
	}
	c.Unchanged = func(r billing.Resent) bool { return r.Hours == 0 }
	c.Notice = func(r billing.Resent) string {
		if r.Hours == 0 && len(r.LeftOut) == 0 {
			return fmt.Sprintf("nothing of tenant %s to move to %s at %s", r.Tenant, r.Ref, q.Receiver)
		}
		text := fmt.Sprintf("moved %s of tenant %s with %s to %s", output.Count(r.Hours, "hour"), r.Tenant,
			output.Count(r.Admitted, "request"), r.Ref)
		if r.Hours > 0 {
			text += ": the next usage hand-on sends them"
		}
		for i, e := range r.LeftOut {
			if i == maxNamed {
				return text + fmt.Sprintf("\nleft out: %s more", output.Count(int64(len(r.LeftOut)-i), "hour"))
			}
			text += fmt.Sprintf("\nleft out: %s with %s, which the receiver would not take any more",
				closing.Time(e.Hour), output.Count(e.Admitted, "request"))
		}
		return text
	}
	cmd := c.Command(&cobra.Command{
		Use: "resend TENANT --receiver RECEIVER --since HOUR --reason TEXT",
		// The line fits into 80 columns.
		DisableFlagsInUseLine: true,

		Short: "Move what another billing reference got to the present one",
		Long: `Move what a receiver has of a tenant at other billing references, such as one
that was mistyped, to its present one: by events below zero for the others, and
events with new IDs. The next "usage hand-on" sends them. With --lost nothing is
taken back, and what still waits for the others is not sent: the receiver never
counted it there.

Hours of closed months count to the present hour. What is too old for the
receiver is listed and stays where it is.`,
		Example: `  petstorectl usage resend acme --receiver stripe --since 2026-11-01 --lost --reason "a typo"`,
	}, cmdutil.TenantArg(f, &c.Subject.Tenant))
	cmdutil.ParsedFlag(cmd, &q.Receiver, "receiver", "", "of `RECEIVER`, the name of its file", parseReceiver)
	cmdutil.PastFlag(cmd, f, &q.Since, "since", "from this `HOUR` on, such as 2026-11-01")
	cmdutil.PastFlag(cmd, f, &q.Until, "until", "up to this `HOUR` (default: now)")
	cmd.Flags().BoolVar(&q.Lost, "lost", false, "the others never counted it: take nothing back")
	return cmdutil.ForBilling(cmd)
}
