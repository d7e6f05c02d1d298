// Package tail holds the command that follows a tenant's requests as they come.
package tail

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

type options struct {
	*cmdutil.Factory

	subject string
	failed  bool
	length  time.Duration
}

// NewCmd returns the command tail.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := &cobra.Command{
		Use:   "tail TENANT|KEY-ID",
		Short: "Follow the requests of a tenant or a key",
		Long: `Follow the requests of a tenant or a key until ^C, or for as long as --for says.

Each failed request, with a status of 400 or more, is a line when a server
stores it: within a second, in a flood within five. A long run of failures keeps
only the first and the last request; the last says how many are left out.
Without --failed there are also lines with the numbers of requests that were
admitted and refused, by key, as servers record them twice a second.

In JSON each line is an object (-o jsonl).`,
		Example: `  petstorectl tail acme --failed
  petstorectl tail acme --for 1m
  petstorectl tail key_9Xb2LmQ0tR7sVw1Z -o jsonl --jq .code`,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	f.OutputFlag(cmd)
	cmdutil.DatabaseCommand(f, cmd, cmdutil.Arg{
		Name: "TENANT or KEY-ID", Value: &o.subject, Complete: cmdutil.TenantNames(f), Check: cmdutil.CheckKeyID,
	})
	cmd.Flags().BoolVar(&o.failed, "failed", false, "only failed requests")
	cmdutil.ParsedFlag(
		cmd,
		&o.length,
		"for",
		"",
		"end after `LENGTH`, such as 1m",
		cmdutil.ParseDuration,
		"1m",
		"10m",
		"1h",
	)
	return cmdutil.SetColumns(cmd, View.Names())
}

func run(ctx context.Context, o *options) error {
	p, err := o.printer()
	if err != nil {
		return err
	}
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	f, err := o.follower(ctx, db)
	if err != nil {
		return err
	}
	w, err := newWriter(p, f.label)
	if err != nil {
		return err
	}
	// The first poll skips earlier requests.
	if _, err := f.poll(ctx); err != nil {
		return err
	}
	o.Messagef("following %s: ^C ends it", f.what)
	return f.run(ctx, o.length, w)
}

// printer returns the printer of the lines.
func (o *options) printer() (output.Printer, error) {
	p := o.Printer()
	switch {
	case o.Output == "" && p.Format == "json":
		// A filter is applied to each line.
		p.Format = "jsonl"
	case p.Format == "json":
		return p, cmdutil.UsageErrorf("tail can't print json, which has an end").WithHint(
			"print an object in each line: -o jsonl",
		)
	}
	return p, nil
}

// follower returns the follower of the tenant or the key.
func (o *options) follower(ctx context.Context, db *store.DB) (*follower, error) {
	f := &follower{
		db:     db,
		now:    o.Now,
		say:    o.Messagef,
		counts: !o.failed,
		seen:   map[failedID]time.Time{},
		labels: map[string]string{},
	}
	if strings.HasPrefix(o.subject, "key_") {
		k, err := db.Keys.Get(ctx, o.subject)
		if err != nil {
			return nil, o.Explain(ctx, err, cmdutil.Subject{Key: o.subject})
		}
		f.tenantID, f.tenant, f.keyID, f.what = k.TenantID, k.TenantName, k.ID, "key "+k.ID+" of tenant "+k.TenantName
		f.labels[k.ID] = key.Label(k)
		return f, nil
	}
	t, err := db.Tenants.Get(ctx, o.subject)
	if err != nil {
		return nil, o.Explain(ctx, err, cmdutil.Subject{Tenant: o.subject})
	}
	f.tenantID, f.tenant, f.what = t.ID, t.Name, "tenant "+t.Name
	return f, nil
}

// event is a line: a failed request or, with counts, what a server has recorded for a key.
type event struct {
	usage.FailedRequest
	tenant string
	counts *counts
}

type counts struct{ admitted, refused int64 }

func (e event) kind() string {
	if e.counts != nil {
		return "usage"
	}
	return "failed"
}

// failed returns the value for a failed request, and nothing for counts.
func failed(value func(event) any) func(event) any {
	return func(e event) any {
		if e.counts != nil {
			return ""
		}
		return value(e)
	}
}

func count(value func(*counts) int64) func(event) any {
	return func(e event) any {
		if e.counts == nil {
			return (*int64)(nil)
		}
		n := value(e.counts)
		return &n
	}
}

// View shows a line.
var View = output.View[event]{
	{Name: "type", Value: func(e event) any { return e.kind() }, InList: true},
	{Name: "at", Value: func(e event) any { return e.At }, InList: true},
	{Name: "tenant", Value: func(e event) any { return e.tenant }},
	{Name: "key_id", Value: func(e event) any { return e.KeyID }, InList: true},
	{Name: "status", Value: failed(func(e event) any { return int64(e.Status) }), InList: true},
	{Name: "code", Value: failed(func(e event) any { return e.Code }), InList: true},
	{Name: "reason", Value: failed(func(e event) any { return e.Reason }), InList: true},
	{Name: "method", Value: failed(func(e event) any { return e.Method }), InList: true},
	{Name: "route", Value: failed(func(e event) any { return e.Route }), InList: true},
	{Name: "duration_ms", Value: failed(func(e event) any { return output.Milliseconds(e.Took) }), InList: true},
	{Name: "suppressed", Value: failed(func(e event) any { return e.Suppressed }), InList: true},
	{Name: "request_id", Value: failed(func(e event) any { return e.RequestID }), InList: true},
	{Name: "server_id", Value: failed(func(e event) any { return e.ServerID })},
	{Name: "admitted", Value: count(func(c *counts) int64 { return c.admitted }), InList: true},
	{Name: "refused", Value: count(func(c *counts) int64 { return c.refused }), InList: true},
}

// writer prints lines as they come.
type writer struct {
	p      output.Printer
	label  func(keyID string) string
	stream *output.Stream[event]
}

// newWriter returns a writer. It names keys by label in lines for a person.
func newWriter(p output.Printer, label func(string) string) (*writer, error) {
	w := &writer{p: p, label: label}
	if p.Format == "table" && p.Columns == nil {
		return w, nil
	}
	if p.Format == "table" {
		// A table is aligned when it is complete, and this one never is.
		w.p.Format = ""
	}
	var err error
	w.stream, err = output.NewStream(w.p, View)
	if err == nil {
		err = w.stream.Flush()
	}
	return w, err
}

func (w *writer) write(events []event) error {
	if w.stream == nil {
		for _, e := range events {
			if _, err := io.WriteString(w.p.Out, w.line(e)+"\n"); err != nil {
				return err
			}
		}
		return nil
	}
	for _, e := range events {
		if err := w.stream.Add(e); err != nil {
			return err
		}
	}
	return w.stream.Flush()
}

// line is an event for a person: the time, the status and code or the numbers, the key, and then as
// much of the rest as fits the terminal.
func (w *writer) line(e event) string {
	at := e.At.UTC()
	if w.p.Zone != nil {
		at = e.At.In(w.p.Zone)
	}
	key := w.label(e.KeyID)
	if c := e.counts; c != nil {
		numbers := fmt.Sprintf("%s admitted, %s refused", output.Thousands(c.admitted), output.Thousands(c.refused))
		return strings.TrimRight(
			at.Format(time.TimeOnly)+"      "+text.Pad(numbers, codeWidth, ' ')+" "+fitTo(key, keyWidth),
			" ",
		)
	}
	status := strconv.Itoa(e.Status)
	rest := strings.TrimSpace(e.Method + " " + e.Route)
	if e.Suppressed > 0 {
		rest = fmt.Sprintf("(+%s more) %s", output.Thousands(e.Suppressed), rest)
	}
	head := at.Format(time.TimeOnly) + " "
	code := " " + text.Pad(e.Code, codeWidth, ' ') + " "
	room := w.p.Width - len(head) - len(status) - len(code)
	id := " " + output.Clean(e.RequestID) + " "
	// The ID stays whole, to be copied. The key gets less room instead.
	key = fitTo(key, min(keyWidth, max(minKeyWidth, room+1-len(id))))
	rest = text.Snip(output.Clean(rest), max(0, room-text.StringWidthWithoutEscSequences(key)-len(id)), "…")
	return strings.TrimRight(head+w.p.Colors.Red(status)+code+key+id+rest, " ")
}

// fitTo cuts or fills a text to that width.
func fitTo(s string, width int) string {
	return text.Pad(text.Snip(output.Clean(s), width, "…"), width, ' ')
}

const (
	keyWidth, minKeyWidth = 8, 4
	// codeWidth is the length of the longest frequent codes.
	codeWidth = 20
)
