package why

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	auditcmd "petstore.example/internal/ctl/audit"
	"petstore.example/internal/ctl/ban"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

// summaryView is what is printed as names and values, detailView what JSON and CSV add to it.
var (
	summaryView = output.View[*diagnosis]{
		{Name: "verdict", Value: func(d *diagnosis) any { return d.verdict.Code }},
		{Name: "reason", Value: func(d *diagnosis) any { return d.verdict.Reason }},
		{Name: "until", Value: func(d *diagnosis) any { return d.verdict.Until }},
		{Name: "key_id", Value: func(d *diagnosis) any { return d.Key.ID }},
		{Name: "tenant", Value: func(d *diagnosis) any { return d.Tenant.Name }},
		{Name: "name", Value: func(d *diagnosis) any { return d.Key.Name }},
		{Name: "environment", Value: func(d *diagnosis) any { return string(d.Key.Environment) }},
		{Name: "last4", Value: func(d *diagnosis) any { return d.Key.Last4 }},
		{Name: "status", Value: func(d *diagnosis) any { return string(d.Key.Status(d.Now)) }},
		{Name: "tenant_status", Value: func(d *diagnosis) any { return tenant.Status(d.Tenant) }},
		{Name: "expires_at", Value: func(d *diagnosis) any { return d.Key.ExpiresAt }},
		{Name: "last_used_at", Value: func(d *diagnosis) any { return d.Key.LastUsedAt }},
		{Name: "plan", Value: func(d *diagnosis) any { return d.Tenant.Plan }},
		{Name: "per_minute", Value: func(d *diagnosis) any { return d.Tenant.Quota.PerMinute }},
		{Name: "per_day", Value: func(d *diagnosis) any { return d.Tenant.Quota.PerDay }},
		{Name: "next_plan", Value: func(d *diagnosis) any { return d.next().Plan }},
		{Name: "next_per_minute", Value: func(d *diagnosis) any { return output.NumberOrNil(d.next().Quota.PerMinute) }},
		{Name: "next_per_day", Value: func(d *diagnosis) any { return output.NumberOrNil(d.next().Quota.PerDay) }},
		{Name: "next_at", Value: func(d *diagnosis) any { return d.Tenant.Until }},
		{Name: "key_per_minute", Value: func(d *diagnosis) any { return output.NumberOrNil(d.Key.PerMinute) }},
		{Name: "used_today", Value: func(d *diagnosis) any { return d.UsedToday }},
		{Name: "remaining_today", Value: func(d *diagnosis) any { return max(0, d.Tenant.Quota.PerDay-d.UsedToday) }},
		{Name: "day_resets_at", Value: func(d *diagnosis) any { return d.DayEnd() }},
		{Name: "key_used_today", Value: func(d *diagnosis) any { return d.today.Admitted }},
		{Name: "key_refused_24h", Value: func(d *diagnosis) any { return d.lastDay.Refused }},
		{Name: "strikes", Value: func(d *diagnosis) any { return d.Strikes() }},
		{Name: "strike_limit", Value: func(d *diagnosis) any { return keys.StrikeLimit(d.Tenant.Quota.PerMinute) }},
	}
	detailView = output.View[*diagnosis]{
		{Name: "explanation", Value: func(d *diagnosis) any { explanation, _ := d.text(); return explanation }},
		{Name: "help", Value: func(d *diagnosis) any { _, help := d.text(); return help }},
		{Name: "request", Value: func(d *diagnosis) any { return d.requestJSON() }},
		{Name: "bans", Value: func(d *diagnosis) any { return output.ListJSON(ban.View(d.Now), first(d.shown, d.Bans)) }},
		{Name: "refusals", Value: func(d *diagnosis) any { return output.ListJSON(refusalView, first(d.shown, d.Refusals)) }},
		{Name: "changes", Value: func(d *diagnosis) any { return output.ListJSON(auditcmd.View, first(d.shown, d.changes)) }},
	}
	refusalView = output.View[usage.RefusalRecord]{
		{Name: "at", Value: func(r usage.RefusalRecord) any { return r.At }, InList: true},
		{Name: "code", Value: func(r usage.RefusalRecord) any { return r.Code }, InList: true},
		{Name: "window", Value: func(r usage.RefusalRecord) any { return r.Window }, InList: true},
		{Name: "limit", Value: func(r usage.RefusalRecord) any { return output.NumberOrNil(r.Limit) }},
		{Name: "resets_at", Value: func(r usage.RefusalRecord) any { return unixOrZero(r.Reset) }},
		{Name: "partial", Value: func(r usage.RefusalRecord) any { return r.Partial }},
		{Name: "plan", Value: func(r usage.RefusalRecord) any { return r.Plan }},
		{Name: "method", Value: func(r usage.RefusalRecord) any { return r.Method }},
		{Name: "route", Value: func(r usage.RefusalRecord) any { return r.Route }},
		{Name: "suppressed", Heading: "MORE", Value: func(r usage.RefusalRecord) any { return r.Suppressed }, InList: true},
		{Name: "request_id", Value: func(r usage.RefusalRecord) any { return r.RequestID }, InList: true, MinWidth: output.IDWidth},
		{Name: "server_id", Value: func(r usage.RefusalRecord) any { return r.ServerID }},
	}
)

// View shows a diagnosis.
var View = slices.Concat(summaryView, detailView)

// requestJSON is the refusal that was asked about.
func (d *diagnosis) requestJSON() json.RawMessage {
	if d.request == nil {
		return nil
	}
	return output.ItemJSON(refusalView, *d.request)
}

// printDiagnosis prints, for a person, the explanation first and then what it is based on.
func printDiagnosis(f *cmdutil.Factory, d *diagnosis) error {
	switch f.Printer().Format {
	case "json", "csv":
		return output.Item(f.Printer(), View, d)
	case "table":
		return printDiagnosisTable(f, d)
	}
	// A pipe gets a line each.
	if err := output.Item(f.Printer(), View[:len(summaryView)+1], d); err != nil {
		return err
	}
	_, help := d.text()
	for _, line := range help {
		if _, err := fmt.Fprintf(f.Out, "help\t%s\n", output.Clean(line)); err != nil {
			return err
		}
	}
	return output.Rows(f.Printer(), refusalView, first(d.shown, d.Refusals))
}

func printDiagnosisTable(f *cmdutil.Factory, d *diagnosis) error {
	var out string
	if d.request != nil {
		out = paragraph("Request "+d.request.RequestID+" was refused "+refusalText(*d.request)+".", f.Width)
	}
	explanation, help := d.text()
	out += paragraph("Key "+d.Key.ID+key.NameSuffix(d.Key)+" of tenant "+d.Tenant.Name+": "+strings.ToLower(explanation[:1])+explanation[1:], f.Width)
	for _, line := range help {
		if line = "- " + line; strings.Contains(line, "petstorectl ") {
			// A command stays on one line, to be copied.
			out += output.Clean(line) + "\n"
		} else {
			out += paragraph(line, f.Width)
		}
	}
	if _, err := io.WriteString(f.Out, out+"\n"); err != nil {
		return err
	}
	if err := output.Item(f.Printer(), summaryView, d); err != nil {
		return err
	}
	refusals := first(d.shown, d.Refusals)
	title := fmt.Sprintf("Refusals: the last %d of %d stored", len(refusals), len(d.Refusals))
	if err := section(f, title, refusalView.FormatTimes(time.RFC3339), refusals); err != nil {
		return err
	}
	bans := ban.View(d.Now).Hide("key_id", "tenant").Show("status")
	if err := section(f, "Bans", bans, first(d.shown, d.Bans)); err != nil {
		return err
	}
	return section(f, "Changes", auditcmd.View.Hide("subject"), first(d.shown, d.changes))
}

// paragraph is a text in lines of that width.
func paragraph(s string, width int) string {
	var out strings.Builder
	for line := range strings.Lines(text.WrapSoft(output.Clean(s), width)) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}

// section prints a table under its title, nothing for an empty one.
func section[T any](f *cmdutil.Factory, title string, v output.View[T], items []T) error {
	if len(items) == 0 {
		return nil
	}
	if _, err := io.WriteString(f.Out, "\n"+title+"\n"); err != nil {
		return err
	}
	return output.Table(f.Printer(), v, items)
}

func unixOrZero(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}
