package usage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/usage/closing"
	"petstore.example/internal/usage/events"
	"petstore.example/internal/usage/receivers"
)

type eventsOptions struct {
	*cmdutil.Factory

	format   events.Format
	period   cmdutil.Period
	tenant   string
	receiver string
	without  []string
}

func newCmdEvents(f *cmdutil.Factory) *cobra.Command {
	o := &eventsOptions{Factory: f}
	var period cmdutil.PeriodFlags
	cmd := cmdutil.DatabaseCommand(f, &cobra.Command{
		Use:   "events",
		Short: "Hand usage on to a billing system, as events",
		Long: `Write the usage of whole UTC hours as events for a billing system: one for each
tenant, hour and assignment that has requests. Each line is the body of one
request: send them yourself, or use "usage hand-on". An event has the same ID
however often it is written. Hours that a server has not delivered yet are left
to a later run, unless --without names the server. If a server has not delivered
for two hours, the exit code is 4: see "usage forget".

With --mark-sent the events are recorded as sent to that receiver. The next run
for it writes only what is new, or differs from what was sent: a correction has
the difference, which may be negative, and an ID of its own. A receiver gets no
corrections of hours before its first --since. Events are recorded only after
the whole output was written.

Events that the receiver would refuse are left out, named on stderr, and not
recorded as sent; the exit code is then 4. The tenant has no billing reference,
or the event is too old for Stripe (35 days). Or give it up: "usage waive".`,
		Example: `  petstorectl usage events --month 2026-11 -o cloudevents
  petstorectl usage events --since 2026-11-01 -o stripe --mark-sent stripe > events.txt
  petstorectl usage events --since 2026-11-01 -o lago --mark-sent lago --dry-run`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.period, err = period.Period(cmd); err != nil {
				return err
			}
			if err := o.check(cmd); err != nil {
				return err
			}
			return runEvents(cmd.Context(), o)
		},
	})
	f.ChangeFlags(cmd)
	cmdutil.EnumFlag(
		cmd,
		&o.format,
		"output",
		"o",
		"`FORMAT`: cloudevents, stripe, openmeter or lago",
		events.Formats...)
	period.Add(cmd, f)
	cmdutil.TenantFlag(cmd, f, &o.tenant)
	cmd.Flags().StringSliceVar(&o.without, "without", nil, "do not wait for `SERVER` to deliver; may be repeated")
	cmdutil.CompleteFlag(cmd, "without")
	cmdutil.ParsedFlag(
		cmd,
		&o.receiver,
		"mark-sent",
		"",
		"record them as sent to `RECEIVER`, a name of yours",
		parseReceiver,
	)
	return cmdutil.ForBilling(cmd)
}

func parseReceiver(text string) (string, error) { return text, receivers.CheckName(text) }

func (o *eventsOptions) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case o.format == "":
		return cmdutil.UsageErrorf("which format? Give -o cloudevents, stripe, openmeter or lago")
	case !changed("month") && !changed("since"):
		return cmdutil.UsageErrorf("which hours? Give --since DAY, or --month").
			WithHint(
				"a run for each hour needs a day that is well in the past: with --mark-sent only what is new is " +
					"written",
			)
	case o.receiver == "" && o.DryRun:
		return cmdutil.UsageErrorf("--dry-run requires --mark-sent: without it nothing is changed")
	case o.receiver == "" && o.Reason != "":
		return cmdutil.UsageErrorf("--reason requires --mark-sent: without it nothing is changed")
	case o.period.From.After(o.Now()):
		return cmdutil.UsageErrorf("%s has not begun", o.period.From.Format(time.DateOnly))
	}
	return nil
}

func runEvents(ctx context.Context, o *eventsOptions) error {
	if o.receiver != "" {
		if err := o.CheckOut("the events"); err != nil {
			return err
		}
	}
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	o.Changes = false // Only events that were written are recorded.
	if err := o.checkWithout(ctx, db); err != nil {
		return err
	}
	complete, missing, err := completeUntil(ctx, db, o.Now(), o.without)
	if err != nil {
		return err
	}
	to := o.period.To
	if complete.Before(to) {
		to = complete
	}
	sink := &eventSink{Writer: events.NewWriter(o.Out, o.format), format: o.format, now: o.Now()}
	err = db.Events.Send(ctx, actor, billing.EventQuery{
		From: o.period.From, To: to, Tenant: o.tenant, Receiver: o.receiver, Format: o.format, Now: o.Now(),
	}, sink)
	if o.receiver != "" && o.IsOutError(err) {
		return &cmdutil.Error{Code: cmdutil.ExitFailed, Message: "no event was recorded as sent", Cause: err}
	}
	if err != nil {
		return o.explain(ctx, err)
	}
	o.sayComplete(complete, missing)
	if o.receiver != "" {
		o.Changedf("recorded %s as sent to %s", output.Count(sink.written, "event"), o.receiver)
	}
	var late *cmdutil.Error
	if complete.Before(o.period.To) {
		late = behind(missing, o.Now())
	}
	return o.orLate(sink.leftOut.report(o), late)
}

// checkWithout refuses a server that has never delivered anything, or was left out before.
func (o *eventsOptions) checkWithout(ctx context.Context, db *store.DB) error {
	all, err := db.Months.Undelivered(ctx, o.Now().AddDate(1, 0, 0))
	for _, id := range o.without {
		if err == nil && !slices.ContainsFunc(all, func(d billing.Delivery) bool { return d.ServerID == id }) {
			return cmdutil.RefusedErrorf("no server %.80q delivers usage", id).
				WithHint("omit --without " + id + "; " + known(all))
		}
	}
	return err
}

// sayComplete says which hour is the last complete one, and which servers the next one waits for.
func (o *eventsOptions) sayComplete(complete time.Time, missing []billing.Delivery) {
	waitsFor := ""
	if len(missing) > 0 {
		waitsFor = ": " + servers(missing)
	}
	o.Messagef("the last complete hour is %s%s", closing.Time(complete.Add(-time.Hour)), waitsFor)
}

// orLate returns err, or late if err is nil. If both are errors, it prints late.
func (o *eventsOptions) orLate(err error, late *cmdutil.Error) error {
	if late == nil {
		return err
	}
	if err != nil {
		o.Messagef("%s; %s", late.Message, late.Hint)
		return err
	}
	return late
}

// explain says what to do about an error of Events.
func (o *eventsOptions) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, &billing.BusyError{}):
		return cmdutil.RefusedErrorf("%v", err).WithHint("nothing was done; try again when it has ended")
	case errors.Is(err, billing.ErrReceiverFormat):
		return cmdutil.RefusedErrorf("%v", err).WithHint("choose another name for this receiver")
	case errors.As(err, &billing.BegunError{}):
		return cmdutil.RefusedErrorf(
			"%v",
			err,
		).WithHint(
			"omit --from, or name an earlier hour, which adds the hours between",
		)
	case errors.Is(err, billing.ErrReceiverNew):
		return cmdutil.RefusedErrorf("%v: from which hour on does it bill?", err).
			WithHint("name it once: --from HOUR; what came before is not sent")
	}
	return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant})
}

// eventSink writes the events that the receiver takes, and remembers the others.
type eventSink struct {
	*events.Writer

	format  events.Format
	now     time.Time
	written int64
	leftOut leftOut
}

// Write implements store.EventSink.
func (s *eventSink) Write(page []events.Event) (sent []events.Event, err error) {
	for _, e := range page {
		if !s.format.Counts(e) {
			continue
		}
		if reason := s.format.Refuses(e, s.now); reason != "" {
			s.leftOut.add(e, reason, s.format.Value(e))
			continue
		}
		if err := s.Writer.Write(e); err != nil {
			return nil, err
		}
		sent = append(sent, e)
	}
	s.written += int64(len(sent))
	return sent, nil
}

// maxNamed is the most tenants with omitted events that are named.
const maxNamed = 20

// leftOut is what was not written, by tenant and reason, in order of arrival.
type leftOut struct {
	named  []leftOutRow
	events int64
}

type leftOutRow struct {
	tenant           string
	reason           events.Reason
	events, requests int64
}

func (l *leftOut) add(e events.Event, reason events.Reason, requests int64) {
	l.events++
	for i := range l.named {
		if row := &l.named[i]; row.tenant == e.Tenant && row.reason == reason {
			row.events++
			row.requests += requests
			return
		}
	}
	if len(l.named) < maxNamed {
		l.named = append(l.named, leftOutRow{e.Tenant, reason, 1, requests})
	}
}

// report names on stderr what was left out, and returns an error for it.
func (l *leftOut) report(o *eventsOptions) error {
	if l.events == 0 {
		return nil
	}
	others := l.events
	for _, row := range l.named {
		others -= row.events
		o.Messagef(
			"left out: %s of tenant %s with %s: %s",
			output.Count(
				row.events,
				"event",
			),
			output.Clean(row.tenant),
			output.Count(row.requests, "request"),
			row.reason,
		)
	}
	if others > 0 {
		o.Messagef("left out: %s of other tenants", output.Count(others, "event"))
	}
	err := cmdutil.RefusedErrorf(
		"left out %s that %s would not take",
		output.Count(l.events, "event"),
		cmp.Or(o.receiver, string(o.format)),
	)
	// Nobody can set the reference of an erased tenant.
	if slices.ContainsFunc(l.named, func(r leftOutRow) bool {
		return r.reason == events.NoBillingRef && !strings.HasPrefix(r.tenant, "erased-")
	}) {
		err.Hint = "set a billing reference: petstorectl tenant edit TENANT --billing-ref REF"
	}
	if o.receiver != "" {
		err.Hint = strings.TrimPrefix(err.Hint+"; or give it up: petstorectl usage waive TENANT --receiver "+o.receiver+
			" --reason TEXT", "; or ")
	}
	return err
}
