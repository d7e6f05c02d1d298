package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/usage/closing"
	"petstore.example/internal/usage/events"
	"petstore.example/internal/usage/receivers"
)

const (
	standardFor = 10 * time.Minute
	// remembers is how long receivers are assumed to know the ID of an event. stripeRemembers is
	// the same for Stripe, which says at least 24 hours. lastMinute of it is left for the request
	// itself.
	remembers       = 24 * time.Hour
	stripeRemembers = 20 * time.Hour
	lastMinute      = time.Minute
	// firstPause is the pause before the first retry. Each further pause is twice as long, up to
	// maxPause.
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second
)

type handOnOptions struct {
	eventsOptions

	file      string
	from      time.Time
	retry     []string
	settle    []string
	remembers time.Duration
	patience  time.Duration

	to *receivers.Receiver
	// sent is the number of events that arrived. failed is the time of the first failed attempt
	// after the last success.
	sent   int64
	failed time.Time
	pause  time.Duration
}

func newCmdHandOn(f *cmdutil.Factory) *cobra.Command {
	o := &handOnOptions{eventsOptions: eventsOptions{Factory: f}, patience: standardFor}
	cmd := cmdutil.DatabaseCommand(f, &cobra.Command{
		Use:   "hand-on RECEIVER",
		Short: "Send usage to a billing system",
		Long: `Send the usage that a billing system does not have yet. RECEIVER is a file with
the format, the URL and the files of the secrets; its name, without what follows
the last point, is that of the receiver. docs/billing.md has an example of each.

The events are stored in the database, in the transaction that counts them as
handed on, and then sent one request after the other. If this is interrupted,
the next run goes on, on any machine. Each event is sent until the receiver has
it: it knows by the ID what it has.

What the receiver refuses for good is set aside and named, and so is what it
may have and no longer knows the ID of. The exit code is 1 until a person has
sent it again (--retry) or decided that nothing is to be sent (--settle). It is
4 for what is left out, and for servers that are late, as of "usage events".`,
		Example: `  petstorectl usage hand-on /etc/petstore/stripe.receiver --from 2026-11-01
  petstorectl usage hand-on /etc/petstore/stripe.receiver
  petstorectl usage hand-on lago.receiver --retry all --reason "the metric was missing"`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runHandOn(cmd.Context(), o) },
	}, cmdutil.Arg{Name: "RECEIVER", Value: &o.file})
	f.ChangeFlags(cmd)
	cmdutil.PastFlag(cmd, f, &o.from, "from", "the first `HOUR` of a new receiver, such as 2026-11-01")
	cmdutil.ParsedFlag(cmd, &o.patience, "for", "",
		"wait this `LONG` for a receiver that takes nothing\n(default 10m)", parseWait)
	cmdutil.ParsedFlag(cmd, &o.remembers, "dedupe-for", "",
		"the receiver knows IDs for this `LONG`\n(default 24h, for Stripe 20h)", cmdutil.ParseDuration)
	cmd.Flags().StringSliceVar(&o.retry, "retry", nil, "send `EVENT` again, which was set aside; or all")
	cmd.Flags().StringSliceVar(&o.settle, "settle", nil, "`EVENT` has arrived, or is billed by hand; or all")
	for _, name := range []string{"retry", "settle"} {
		cmdutil.CompleteFlag(cmd, name)
	}
	return cmdutil.ForBilling(cmd)
}

func runHandOn(ctx context.Context, o *handOnOptions) (err error) {
	if o.to, err = receivers.Read(o.file); err != nil {
		return cmdutil.UsageErrorf("%v", err).WithHint("docs/billing.md has an example of each receiver")
	}
	o.format, o.receiver = o.to.Format, o.to.Name
	if o.remembers == 0 {
		o.remembers = remembers
		if o.format.IsStripe() {
			o.remembers = stripeRemembers
		}
	}
	if len(o.retry) > 0 && len(o.settle) > 0 {
		return cmdutil.UsageErrorf("--retry and --settle can't be used together")
	}
	if o.from.After(o.Now()) {
		return cmdutil.UsageErrorf("--from %s is in the future", closing.Time(o.from))
	}
	by, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	complete, missing, err := completeUntil(ctx, db, o.Now(), nil)
	late := (*cmdutil.Error)(nil)
	if err != nil && !errors.As(err, &late) {
		return err
	}
	err = db.Events.Hold(ctx, by, o.receiver, func(ctx context.Context, turn billing.Turn) error {
		if late == nil {
			o.sayComplete(complete, missing)
		}
		return o.handOn(ctx, turn, by, complete)
	})
	if ctx.Err() != nil {
		o.Messagef("the next run goes on where this one stopped")
	}
	if late == nil {
		late = behind(missing, o.Now())
	}
	return o.orLate(o.explain(ctx, err), late)
}

// handOn stores new events, if any hour is complete, and sends waiting ones.
func (o *handOnOptions) handOn(ctx context.Context, turn billing.Turn, by audit.By, complete time.Time) error {
	for state, ids := range map[string][]string{billing.Waiting: o.retry, billing.Arrived: o.settle} {
		if err := o.decide(ctx, turn, by, ids, state); err != nil {
			return err
		}
	}
	var leftOut, err error
	if !complete.IsZero() {
		sink := &eventSink{Writer: events.NewWriter(io.Discard, o.format), format: o.format, now: o.Now()}
		err := turn.Send(ctx, by, billing.EventQuery{
			From: o.from.Truncate(
				time.Hour,
			),
			To:       complete,
			Receiver: o.receiver,
			Format:   o.format,
			Waiting:  true,
			Now:      o.Now(),
		}, sink)
		if err != nil {
			return err
		}
		o.Changedf("stored %s for %s", output.Count(sink.written, "event"), o.receiver)
		leftOut = sink.leftOut.report(&o.eventsOptions)
	}
	if !o.DryRun {
		err = o.send(ctx, turn)
		o.Messagef("sent %s to %s", output.Count(o.sent, "event"), o.receiver)
	}
	return cmp.Or(err, o.reportAside(ctx, turn), leftOut)
}

// decide applies a person's decision about events that were set aside.
func (o *handOnOptions) decide(ctx context.Context, turn billing.Turn, by audit.By, ids []string, state string) error {
	if len(ids) == 0 {
		return nil
	}
	if slices.Equal(ids, []string{"all"}) {
		ids = nil
	}
	for _, id := range ids {
		if uuid.Validate(id) != nil {
			return cmdutil.UsageErrorf("%q is not the ID of an event, or all", id)
		}
	}
	n, err := turn.Settle(ctx, by, ids, state)
	if errors.Is(err, billing.ErrNotAside) {
		return cmdutil.NotFoundErrorf("not all of these events are set aside: nothing was changed").
			WithHint("omit --retry and --settle to see which are")
	}
	if err == nil {
		o.Changedf("marked %s as %s", output.Count(int64(n), "event"), state)
	}
	return err
}

// send sends waiting events, in order, until none is left.
func (o *handOnOptions) send(ctx context.Context, turn billing.Turn) error {
	alone := 0 // how many events of a refused batch remain to be sent one by one
	for {
		most := o.format.Batch()
		if alone > 0 {
			most = 1
		}
		batch, err := turn.Next(ctx, most, o.remembers-lastMinute)
		if err != nil || len(batch) == 0 {
			return err
		}
		bodies := make([][]byte, len(batch))
		for i, e := range batch {
			bodies[i] = e.Body
		}
		answer := o.to.Post(ctx, bodies)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case answer.Verdict == receivers.Arrived:
			o.sent += int64(len(batch))
			o.failed, o.pause, alone = time.Time{}, 0, max(0, alone-1)
			err = turn.Note(ctx, batch, billing.Arrived, answer.Text, false)
		case answer.Verdict == receivers.Refused && len(batch) > 1:
			alone = len(batch)
		case answer.Verdict == receivers.Refused:
			alone = max(0, alone-1)
			err = turn.Note(ctx, batch, billing.Refused, answer.Text, false)
		default:
			err = errors.Join(
				turn.Note(ctx, batch, billing.Waiting, answer.Text, answer.Certain),
				o.wait(ctx, turn, answer),
			)
		}
		if err != nil {
			return err
		}
	}
}

// wait waits for the next attempt. It returns an error if there should be no further attempt.
func (o *handOnOptions) wait(ctx context.Context, turn billing.Turn, a receivers.Answer) error {
	const later = "what waits is sent by the next run"
	if a.Verdict == receivers.Stopped {
		return failedf("%s takes nothing: %s", o.receiver, a.Text).WithHint("check its URL and its secrets; " + later)
	}
	now := time.Now()
	if o.failed.IsZero() {
		o.failed = now
		o.Messagef("waiting for %s: %s", o.receiver, a.Text)
	}
	o.pause = min(max(2*o.pause, firstPause), maxPause)
	until := now.Add(max(o.pause, a.After))
	if until.After(o.failed.Add(o.patience)) {
		return failedf("%s took nothing for %v: %s", o.receiver, o.patience, a.Text).WithHint(later)
	}
	for now.Before(until) {
		select {
		case <-time.After(min(until.Sub(now), maxPause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := turn.Keep(ctx); err != nil {
			return err
		}
		now = time.Now()
	}
	return nil
}

// reportAside names the events set aside, and returns an error for them.
func (o *handOnOptions) reportAside(ctx context.Context, turn billing.Turn) error {
	decided := slices.Concat(o.retry, o.settle)
	if o.DryRun && slices.Contains(decided, "all") {
		return nil
	}
	list, err := turn.Aside(ctx, maxNamed)
	if o.DryRun {
		list = slices.DeleteFunc(list, func(e billing.AsideEvent) bool { return slices.Contains(decided, e.ID) })
	}
	if err != nil || len(list) == 0 {
		return err
	}
	for _, e := range list {
		why := e.Reply
		if e.State == "unknown" {
			why = fmt.Sprintf("tried first at %s, and whether it arrived is unknown; the last reply: %s",
				closing.Time(e.TriedAt.Truncate(time.Second)), cmp.Or(e.Reply, "none"))
		}
		to := ""
		if e.Ref != "" {
			to = " to " + output.Clean(e.Ref)
		}
		o.Messagef("set aside: event %s of tenant %s, %s%s in %s: %s", e.ID, output.Clean(e.Tenant),
			output.Count(e.Admitted, "request"), to, closing.Time(e.Hour), output.Clean(why))
	}
	if o.DryRun {
		list[0].Of -= int64(len(decided))
	}
	return failedf("%s set aside for a person to decide", output.Count(list[0].Of, "event")).
		WithHint("send them again with --retry; with --settle if they have arrived, or are billed by hand")
}

func failedf(format string, args ...any) *cmdutil.Error {
	return &cmdutil.Error{Code: cmdutil.ExitFailed, Message: fmt.Sprintf(format, args...)}
}
