// Package webhook holds the commands about the endpoints to which tenants have events sent.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	storewebhooks "petstore.example/internal/store/webhooks"
	"petstore.example/internal/webhooks"
)

// NewCmd returns the command webhook.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("webhook,webhooks", "Manage the endpoints to which events are sent",
		newCmdList(f), newCmdShow(f), newCmdTest(f), newCmdReplay(f), newCmdDisable(f), newCmdResume(f))
}

type endpoint = storewebhooks.StaffEndpoint

// View shows an endpoint.
var View = output.View[endpoint]{
	{Name: "id", InList: true, Value: func(e endpoint) any { return e.ID }},
	{Name: "tenant", InList: true, MinWidth: output.TextWidth, Value: func(e endpoint) any { return e.Tenant }},
	{Name: "environment", Value: func(e endpoint) any { return string(e.Environment) }},
	{Name: "url", InList: true, MinWidth: output.TextWidth, Value: func(e endpoint) any { return e.URL }},
	{Name: "events", Value: func(e endpoint) any { return e.Events }},
	{Name: "description", Value: func(e endpoint) any { return e.Description }},
	{Name: "status", InList: true, Value: func(e endpoint) any { return string(e.Status) }},
	{Name: "disabled_reason", Value: func(e endpoint) any { return e.DisabledReason }},
	{Name: "created_at", Value: func(e endpoint) any { return e.CreatedAt }},
	{Name: "failing_since", InList: true, Value: func(e endpoint) any { return e.FailingSince }},
	{Name: "waiting", InList: true, Value: func(e endpoint) any { return e.Waiting }},
	{Name: "held", Value: func(e endpoint) any { return e.Held }},
}

// DeliveryView shows a delivery with its last attempt.
var DeliveryView = output.View[webhooks.SentDelivery]{
	{Name: "delivery", InList: true, Value: func(d webhooks.SentDelivery) any { return d.ID }},
	{Name: "type", InList: true, Value: func(d webhooks.SentDelivery) any { return d.Type }},
	{Name: "created_at", InList: true, Value: func(d webhooks.SentDelivery) any { return d.CreatedAt }},
	{Name: "status", InList: true, Value: func(d webhooks.SentDelivery) any { return d.Status }},
	{Name: "attempts", InList: true, Value: func(d webhooks.SentDelivery) any { return int64(len(d.Attempts)) }},
	{Name: "due_at", InList: true, Value: func(d webhooks.SentDelivery) any { return d.DueAt }},
	{Name: "answer", InList: true, MinWidth: output.TextWidth,
		Value: func(d webhooks.SentDelivery) any { return answer(d) }},
}

// answer is what the last attempt got: a status, or why there was none.
func answer(d webhooks.SentDelivery) string {
	if len(d.Attempts) == 0 {
		return ""
	}
	last := d.Attempts[len(d.Attempts)-1]
	if last.Status == 0 {
		return last.Said
	}
	return strconv.Itoa(last.Status)
}

// target is the argument WEBHOOK of a command.
type target struct {
	text string
	id   int64
}

func (t *target) arg() cmdutil.Arg {
	return cmdutil.Arg{Name: "WEBHOOK", Value: &t.text, Check: func(text string) (err error) {
		if t.id, err = strconv.ParseInt(text, 10, 64); err != nil {
			return cmdutil.UsageErrorf("WEBHOOK must be a number").WithHint("see: petstorectl webhook list")
		}
		return nil
	}}
}

func (t *target) explain(f *cmdutil.Factory) func(context.Context, error) error {
	return func(ctx context.Context, err error) error {
		switch {
		case errors.Is(err, webhooks.ErrNotFound):
			return cmdutil.NotFoundErrorf("no webhook %d", t.id).WithHint("see: petstorectl webhook list")
		case errors.Is(err, webhooks.ErrDisabled):
			return cmdutil.RefusedErrorf("webhook %d is disabled", t.id).WithHint("its tenant can enable it")
		case errors.Is(err, webhooks.ErrManyPings):
			return cmdutil.RefusedErrorf("its tenant was sent %d pings within an hour", webhooks.MaxPendingPings).
				WithHint("try again later")
		}
		return f.Explain(ctx, err, cmdutil.Subject{})
	}
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	l := &cmdutil.List[endpoint]{
		Factory: f, All: true, Empty: "no webhooks", NoMatch: "the tenant has no webhooks", Filters: []string{"tenant"},
		View: func() output.View[endpoint] { return View },
	}
	l.Rows = func(ctx context.Context, db *store.DB, _ int) (iter.Seq2[endpoint, error], error) {
		list, err := db.StaffWebhooks.List(ctx, l.Subject.Tenant)
		return cmdutil.Items(list), err
	}
	cmd := l.Command(&cobra.Command{
		Use:   "list",
		Short: "List webhooks, by tenant",
		Long: `List the webhooks of all tenants or of one. failing_since is when the first of
the failures began since which nothing succeeded; waiting are the deliveries
that are not done.`,
		Example: `  petstorectl webhook list
  petstorectl webhook list --tenant acme -o json`,
	})
	cmdutil.TenantFlag(cmd, f, &l.Subject.Tenant)
	return cmd
}

// shown is an endpoint with its last deliveries.
type shown struct {
	endpoint

	deliveries []webhooks.SentDelivery
}

func newCmdShow(f *cmdutil.Factory) *cobra.Command {
	const last = 10
	t := &target{}
	view := append(output.Map(View, func(s shown) endpoint { return s.endpoint }), output.Column[shown]{
		Name: "deliveries", Value: func(s shown) any { return output.ListJSON(DeliveryView, s.deliveries) },
	})
	s := &cmdutil.Show[shown]{Factory: f, View: func(time.Time) output.View[shown] { return view }}
	s.Get = func(ctx context.Context, db *store.DB) (v shown, err error) {
		if v.endpoint, err = db.StaffWebhooks.Get(ctx, t.id); err != nil {
			return v, t.explain(f)(ctx, err)
		}
		v.deliveries, err = db.StaffWebhooks.Deliveries(ctx, t.id, last)
		return v, err
	}
	s.Print = func(v shown) error {
		p := f.Printer()
		if p.Whole() {
			return output.Item(p, view, v)
		}
		if err := output.Item(p, View, v.endpoint); err != nil || len(v.deliveries) == 0 {
			return err
		}
		if _, err := fmt.Fprintln(f.Out); err != nil {
			return err
		}
		return output.Table(p, DeliveryView, v.deliveries)
	}
	return s.Command(&cobra.Command{
		Use:   "show WEBHOOK",
		Short: "Show a webhook with its last deliveries",
		Long: `Show a webhook with its last 10 deliveries, the newest first: their last answer
is a status, or why there was none. Nobody sees its secret.`,
		Example: `  petstorectl webhook show 3`,
	}, t.arg())
}

// queued is the View of what was queued for the target, a delivery or a number of them.
func (t *target) queued(what string) output.View[int64] {
	return output.View[int64]{
		{Name: "webhook", Value: func(int64) any { return t.id }},
		{Name: what, Value: func(n int64) any { return n }},
	}
}

func newCmdTest(f *cmdutil.Factory) *cobra.Command {
	t := &target{}
	c := &cmdutil.Change[int64]{Factory: f, Explain: t.explain(f), View: t.queued("delivery")}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (int64, error) {
		return db.StaffWebhooks.Test(ctx, by, t.id)
	}
	c.Notice = func(int64) string {
		return fmt.Sprintf("queued a ping to webhook %d; petstorectl webhook show %[1]d has its answer", t.id)
	}
	return c.Command(&cobra.Command{
		Use:   "test WEBHOOK",
		Short: "Send a ping to a webhook",
		Long: `Send a ping to a webhook, before all else that waits for it. A server sends it
within a second, and once.`,
		Example: `  petstorectl webhook test 3`,
	}, t.arg())
}

func newCmdReplay(f *cmdutil.Factory) *cobra.Command {
	var (
		t      = &target{}
		replay webhooks.Replay
	)
	c := &cmdutil.Change[int64]{Factory: f, Explain: t.explain(f), View: t.queued("deliveries")}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (int64, error) {
		return db.StaffWebhooks.Replay(ctx, by, t.id, replay)
	}
	c.Notice = func(n int64) string {
		return fmt.Sprintf("queued %s to webhook %d", output.Count(n, "event"), t.id)
	}
	cmd := c.Command(&cobra.Command{
		Use:   "replay WEBHOOK",
		Short: "Send events to a webhook once more",
		Long: `Send to a webhook what it has not got of the last 30 days, behind what is new,
at most 10,000 events: run the command again for the rest. With --all it gets
what was delivered, too.

` + cmdutil.PastHelp,
		Example: `  petstorectl webhook replay 3 --since 2d`,
	}, t.arg())
	cmdutil.PastFlag(cmd, f, &replay.Since, "since", "only events of `WHEN` or later, such as 2d")
	cmd.Flags().BoolVar(&replay.All, "all", false, "also what was delivered")
	return cmd
}

func newCmdDisable(f *cmdutil.Factory) *cobra.Command {
	t := &target{}
	type change struct{ before, after webhooks.Endpoint }
	c := &cmdutil.Change[change]{Factory: f, Explain: t.explain(f), View: output.View[change]{
		{Name: "id", Value: func(c change) any { return c.after.ID }},
		{Name: "status", Value: func(c change) any { return string(c.after.Status) }},
		{Name: "disabled_reason", Value: func(c change) any { return c.after.DisabledReason }},
	}}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (done change, err error) {
		done.before, done.after, err = db.StaffWebhooks.Disable(ctx, by, t.id)
		return done, err
	}
	c.Unchanged = func(c change) bool { return c.before.Status == webhooks.Disabled }
	c.Notice = func(c change) string { return fmt.Sprintf("webhook %d is disabled", c.after.ID) }
	return c.Command(&cobra.Command{
		Use:   "disable WEBHOOK",
		Short: "Send nothing more to a webhook",
		Long: `Send nothing more to a webhook until its tenant enables it. What happens
meanwhile is kept for 30 days, for a replay.`,
		Example: `  petstorectl webhook disable 3 --reason "somebody else's server"`,
	}, t.arg())
}

func newCmdResume(f *cmdutil.Factory) *cobra.Command {
	var since time.Time
	type resumed = storewebhooks.Resumed
	c := &cmdutil.Change[resumed]{Factory: f, View: output.View[resumed]{
		{Name: "released", Value: func(r resumed) any { return r.Released }},
		{Name: "dropped", Value: func(r resumed) any { return r.Dropped }},
	}}
	c.Do = func(ctx context.Context, db *store.DB, by audit.By) (resumed, error) {
		return db.StaffWebhooks.Resume(ctx, by, since)
	}
	c.Unchanged = func(r resumed) bool { return r == resumed{} }
	c.Notice = func(r resumed) string {
		return fmt.Sprintf("released %s, dropped %d", output.Count(r.Released, "event"), r.Dropped)
	}
	cmd := c.Command(&cobra.Command{
		Use:   "resume",
		Short: "Send what a restored database holds back",
		Long: `Send what waits since a dump was restored: until then it is held back, because
it may have been sent before. With --since what is older is dropped. Each event
has the ID that it had, so a receiver can tell that it has it.

` + cmdutil.PastHelp,
		Example: `  petstorectl webhook resume --since 2h`,
	})
	cmdutil.PastFlag(cmd, f, &since, "since", "only what was queued at `WHEN` or later, such as 2h")
	return cmd
}
