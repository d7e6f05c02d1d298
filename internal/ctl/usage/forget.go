package usage

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
)

// ForgottenView shows a forgotten server.
var ForgottenView = output.View[billing.Forgotten]{
	{Name: "server", Value: func(d billing.Forgotten) any { return d.ServerID }, InList: true},
	{Name: "delivered_to", Value: func(d billing.Forgotten) any { return d.To }, InList: true},
}

func newCmdForget(f *cmdutil.Factory) *cobra.Command {
	c := &cmdutil.Change[billing.Forgotten]{Factory: f, View: ForgottenView, Requires: []string{"reason"}}
	var server string
	var waitedFor []billing.Delivery
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (billing.Forgotten, error) {
		done, err := db.Months.Forget(ctx, by, server)
		if errors.Is(err, billing.ErrServerUnknown) {
			list, listErr := db.Months.Undelivered(ctx, f.Now())
			waitedFor, err = list, errors.Join(err, listErr)
		}
		return done, err
	}
	c.Explain = func(ctx context.Context, err error) error {
		switch {
		case errors.Is(err, billing.ErrServerAlive):
			return cmdutil.RefusedErrorf("server %s is alive, or was a minute ago: it delivers by itself", server).
				WithHint("if its process has ended, try again in a minute")
		case errors.Is(err, billing.ErrServerUnknown):
			return cmdutil.NotFoundErrorf("no server %.80q has usage to deliver", server).
				WithHint(known(waitedFor))
		}
		return f.Explain(ctx, err, c.Subject)
	}
	c.Unchanged = func(d billing.Forgotten) bool { return d.Already }
	c.Notice = func(d billing.Forgotten) string {
		if d.Already {
			return "server " + d.ServerID + " is not waited for already"
		}
		return "stopped waiting: " + servers([]billing.Delivery{d.Delivery})
	}
	return cmdutil.ForBilling(c.Command(&cobra.Command{
		Use:   "forget SERVER --reason TEXT",
		Short: "Stop waiting for a server whose process has ended",
		Long: `Say that a server's process has ended, so that it delivers no more usage. What
it had not recorded is lost, which is usually its last second. From then on its
hours are complete: they are handed on, and the month can be closed, with the
server in "without". If the server delivers after all, it is waited for again,
and what it delivers is a correction.

A server that had a heartbeat within the last minute is refused.`,
		Example: `  petstorectl usage forget d4s6v8qk3m5t0b2n7c1g --reason "disk of api-3 lost"`,
	}, cmdutil.Arg{Name: "SERVER", Value: &server}))
}

// toForget says how to continue without a server.
func toForget(server string) string {
	return "if its process has ended: petstorectl usage forget " + server + " --reason TEXT"
}

// completeUntil returns the end of the last hour that every server has delivered completely.
// missing are the servers that have not delivered later hours, the one that has delivered least
// first. completeUntil refuses if no hour is complete.
func completeUntil(
	ctx context.Context, db *store.DB, now time.Time, without []string,
) (until time.Time, missing []billing.Delivery, err error) {
	until = now.Truncate(time.Hour)
	missing, err = db.Months.Undelivered(ctx, until)
	if err != nil {
		return time.Time{}, nil, err
	}
	missing = slices.DeleteFunc(missing, func(d billing.Delivery) bool { return slices.Contains(without, d.ServerID) })
	switch {
	case len(missing) == 0:
		return until, nil, nil
	case missing[0].To.IsZero():
		return time.Time{}, nil, cmdutil.RefusedErrorf("no hour is complete: %s", servers(missing)).
			WithHint(toForget(missing[0].ServerID))
	}
	return missing[0].To.Truncate(time.Hour), missing, nil
}

// behind returns an error about the servers in missing that have been silent for billing.Overdue,
// nil for none. It does not keep complete hours from being handed on.
func behind(missing []billing.Delivery, now time.Time) *cmdutil.Error {
	if len(missing) == 0 || now.Sub(missing[0].To) <= billing.Overdue {
		return nil
	}
	return cmdutil.RefusedErrorf("later hours wait for server %s", missing[0].ServerID).
		WithHint(toForget(missing[0].ServerID))
}
