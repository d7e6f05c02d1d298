package tail

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/usage"
)

// event is a line: a failed request or, with counts, what a server has recorded of a key.
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
	{Name: "duration_ms", Value: failed(func(e event) any { return json.RawMessage(milliseconds(e.Took)) }), InList: true},
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

// newWriter returns a writer that names keys by label in lines for a person.
func newWriter(p output.Printer, label func(string) string) (*writer, error) {
	w := &writer{p: p, label: label}
	if p.Format == "table" && p.Columns == nil {
		return w, nil
	}
	if p.Format == "table" {
		// A table is aligned when it is complete, which it never is.
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

// line is an event for a person: the time, the status and code or the numbers, the key, and the rest as far as the terminal is wide.
func (w *writer) line(e event) string {
	at := e.At.UTC()
	if w.p.Zone != nil {
		at = e.At.In(w.p.Zone)
	}
	key := w.label(e.KeyID)
	if c := e.counts; c != nil {
		numbers := fmt.Sprintf("%s admitted, %s refused", output.Thousands(c.admitted), output.Thousands(c.refused))
		return strings.TrimRight(at.Format(time.TimeOnly)+"      "+text.Pad(numbers, codeWidth, ' ')+" "+fitTo(key, keyWidth), " ")
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
	// The ID stays whole, to be copied: rather the key has less room.
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
	// codeWidth is that of the longest codes that are frequent.
	codeWidth = 20
)

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', -1, 64)
}
