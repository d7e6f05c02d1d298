package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

// diagnosisView is what is printed as names and values, nestedView what JSON and CSV add to it.
var (
	diagnosisView = view[*diagnosis]{
		{name: "verdict", value: func(d *diagnosis) any { return d.verdict.Code }},
		{name: "reason", value: func(d *diagnosis) any { return d.verdict.Reason }},
		{name: "until", value: func(d *diagnosis) any { return d.verdict.Until }},
		{name: "key_id", value: func(d *diagnosis) any { return d.Key.ID }},
		{name: "tenant", value: func(d *diagnosis) any { return d.Tenant.Name }},
		{name: "name", value: func(d *diagnosis) any { return d.Key.Name }},
		{name: "environment", value: func(d *diagnosis) any { return string(d.Key.Environment) }},
		{name: "last4", value: func(d *diagnosis) any { return d.Key.Last4 }},
		{name: "status", value: func(d *diagnosis) any { return string(d.Key.Status(d.Now)) }},
		{name: "tenant_status", value: func(d *diagnosis) any { return tenantStatus(d.Tenant) }},
		{name: "expires_at", value: func(d *diagnosis) any { return d.Key.ExpiresAt }},
		{name: "last_used_at", value: func(d *diagnosis) any { return d.Key.LastUsedAt }},
		{name: "plan", value: func(d *diagnosis) any { return d.Tenant.Plan }},
		{name: "per_minute", value: func(d *diagnosis) any { return d.Tenant.Quota.PerMinute }},
		{name: "per_day", value: func(d *diagnosis) any { return d.Tenant.Quota.PerDay }},
		{name: "key_per_minute", value: func(d *diagnosis) any { return limitOrNil(d.Key.PerMinute) }},
		{name: "used_today", value: func(d *diagnosis) any { return d.UsedToday }},
		{name: "remaining_today", value: func(d *diagnosis) any { return max(0, d.Tenant.Quota.PerDay-d.UsedToday) }},
		{name: "day_resets_at", value: func(d *diagnosis) any { return d.DayEnd() }},
		{name: "key_used_today", value: func(d *diagnosis) any { return d.today.Admitted }},
		{name: "key_refused_24h", value: func(d *diagnosis) any { return d.lastDay.Refused }},
		{name: "strikes", value: func(d *diagnosis) any { return d.Strikes() }},
		{name: "strike_limit", value: func(d *diagnosis) any { return keys.StrikeLimit(d.Tenant.Quota.PerMinute) }},
	}
	nestedView = view[*diagnosis]{
		{name: "explanation", value: func(d *diagnosis) any { explanation, _ := d.text(); return explanation }},
		{name: "help", value: func(d *diagnosis) any { _, help := d.text(); return help }},
		{name: "request", value: func(d *diagnosis) any { return d.requestJSON() }},
		{name: "bans", value: func(d *diagnosis) any { return nested(banView(d.Now), first(d.shown, d.Bans)) }},
		{name: "refusals", value: func(d *diagnosis) any { return nested(refusalView, first(d.shown, d.Refusals)) }},
		{name: "changes", value: func(d *diagnosis) any { return nested(auditView, first(d.shown, d.changes)) }},
	}
	refusalView = view[usage.RefusalRecord]{
		{name: "at", value: func(r usage.RefusalRecord) any { return r.At }, short: true},
		{name: "code", value: func(r usage.RefusalRecord) any { return r.Code }, short: true},
		{name: "window", value: func(r usage.RefusalRecord) any { return r.Window }, short: true},
		{name: "limit", value: func(r usage.RefusalRecord) any { return limitOrNil(r.Limit) }},
		{name: "resets_at", value: func(r usage.RefusalRecord) any { return unixOrZero(r.Reset) }},
		{name: "partial", value: func(r usage.RefusalRecord) any { return r.Partial }},
		{name: "plan", value: func(r usage.RefusalRecord) any { return r.Plan }},
		{name: "method", value: func(r usage.RefusalRecord) any { return r.Method }},
		{name: "route", value: func(r usage.RefusalRecord) any { return r.Route }},
		{name: "suppressed", heading: "MORE", value: func(r usage.RefusalRecord) any { return r.Suppressed }, short: true},
		{name: "request_id", value: func(r usage.RefusalRecord) any { return r.RequestID }, short: true, least: idWidth},
		{name: "server_id", value: func(r usage.RefusalRecord) any { return r.ServerID }},
	}
)

// requestJSON is the refusal that was asked about.
func (d *diagnosis) requestJSON() json.RawMessage {
	if d.request == nil {
		return nil
	}
	return raw(object[usage.RefusalRecord]{refusalView, *d.request})
}

// printDiagnosis prints, for a person, the explanation first and then what it is based on.
func printDiagnosis(f *factory, d *diagnosis) error {
	all := append(diagnosisView[:len(diagnosisView):len(diagnosisView)], nestedView...)
	switch f.format() {
	case "json", "csv":
		return printOne(f, all, d)
	case "table":
		return printDiagnosisTable(f, d)
	}
	// A pipe gets a line each.
	if err := printOne(f, all[:len(diagnosisView)+1], d); err != nil {
		return err
	}
	_, help := d.text()
	for _, line := range help {
		if _, err := fmt.Fprintf(f.streams.out, "help\t%s\n", cleanCell(line)); err != nil {
			return err
		}
	}
	return printRows(f.streams.out, refusalView.shorts(), first(d.shown, d.Refusals))
}

func printDiagnosisTable(f *factory, d *diagnosis) error {
	var out string
	if d.request != nil {
		out = paragraph("Request "+d.request.RequestID+" was refused "+refusalText(*d.request)+".", f.streams.width)
	}
	explanation, help := d.text()
	out += paragraph("Key "+d.Key.ID+named(d.Key)+" of tenant "+d.Tenant.Name+": "+strings.ToLower(explanation[:1])+explanation[1:], f.streams.width)
	for _, line := range help {
		if line = "- " + line; strings.Contains(line, "petstorectl ") {
			// A command stays in one line, to be copied.
			out += cleanCell(line) + "\n"
		} else {
			out += paragraph(line, f.streams.width)
		}
	}
	if _, err := io.WriteString(f.streams.out, out+"\n"); err != nil {
		return err
	}
	if err := printOne(f, diagnosisView, d); err != nil {
		return err
	}
	refusals := first(d.shown, d.Refusals)
	title := fmt.Sprintf("Refusals, the last %d of %d kept", len(refusals), len(d.Refusals))
	if err := section(f, title, refusalView.exact(), refusals); err != nil {
		return err
	}
	bans := banView(d.Now).without("key_id").without("tenant").with("status")
	if err := section(f, "Bans", bans, first(d.shown, d.Bans)); err != nil {
		return err
	}
	return section(f, "Changes", auditView.without("subject"), first(d.shown, d.changes))
}

// paragraph is a text in lines of that width.
func paragraph(s string, width int) string {
	var out strings.Builder
	for line := range strings.Lines(text.WrapSoft(cleanCell(s), width)) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}

// section prints a table under its title, nothing for an empty one.
func section[T any](f *factory, title string, v view[T], things []T) error {
	if len(things) == 0 {
		return nil
	}
	if _, err := io.WriteString(f.streams.out, "\n"+title+"\n"); err != nil {
		return err
	}
	return printTable(f, v.shorts(), things)
}

// nested is a list as JSON.
func nested[T any](v view[T], things []T) json.RawMessage {
	list := make([]object[T], len(things))
	for i, t := range things {
		list[i] = object[T]{v, t}
	}
	return raw(list)
}

// raw can't fail: views hold texts, numbers, times and JSON that was read from a database.
func raw(v any) json.RawMessage {
	text, err := marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func unixOrZero(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}
