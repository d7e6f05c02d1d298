package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

// judged is a standing with its verdict.
type judged struct {
	standing
	verdict
}

// standingView is what is printed as names and values; nestedView what JSON and CSV add to it.
var (
	standingView = view[judged]{
		{name: "verdict", value: func(j judged) any { return j.word }},
		{name: "until", value: func(j judged) any { return j.until }},
		{name: "key_id", value: func(j judged) any { return j.key.ID }},
		{name: "tenant", value: func(j judged) any { return j.tenant.Name }},
		{name: "name", value: func(j judged) any { return j.key.Name }},
		{name: "environment", value: func(j judged) any { return string(j.key.Environment) }},
		{name: "last4", value: func(j judged) any { return j.key.Last4 }},
		{name: "status", value: func(j judged) any { return j.key.Status(j.now) }},
		{name: "tenant_status", value: func(j judged) any { return tenantStatus(j.tenant) }},
		{name: "expires_at", value: func(j judged) any { return j.key.ExpiresAt }},
		{name: "last_used_at", value: func(j judged) any { return j.key.LastUsedAt }},
		{name: "plan", value: func(j judged) any { return j.tenant.Plan }},
		{name: "per_minute", value: func(j judged) any { return j.tenant.Quota.PerMinute }},
		{name: "per_day", value: func(j judged) any { return j.tenant.Quota.PerDay }},
		{name: "key_per_minute", value: func(j judged) any { return limitOrNil(j.key.PerMinute) }},
		{name: "used_today", value: func(j judged) any { return j.today.TenantAdmitted }},
		{name: "remaining_today", value: func(j judged) any { return max(0, j.tenant.Quota.PerDay-j.today.TenantAdmitted) }},
		{name: "day_resets_at", value: func(j judged) any { return j.dayEnd() }},
		{name: "key_used_today", value: func(j judged) any { return j.today.Admitted }},
		{name: "key_refused_24h", value: func(j judged) any { return j.lastDay.Refused }},
		{name: "strikes", value: func(j judged) any { return j.strikes() }},
		{name: "strike_limit", value: func(j judged) any { return keys.StrikeLimit(j.tenant.Quota.PerMinute) }},
	}
	nestedView = view[judged]{
		{name: "because", value: func(j judged) any { return j.because }},
		{name: "help", value: func(j judged) any { return j.help }},
		{name: "request", value: func(j judged) any { return j.requestJSON() }},
		{name: "bans", value: func(j judged) any { return nested(banView(j.now), j.latestBans()) }},
		{name: "refusals", value: func(j judged) any { return nested(refusalView, j.latestRefusals()) }},
		{name: "changes", value: func(j judged) any { return nested(auditView, j.latestChanges()) }},
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

func (s standing) latestBans() []keys.Ban { return s.bans[:min(s.shown, len(s.bans))] }
func (s standing) latestRefusals() []usage.RefusalRecord {
	return s.refusals[:min(s.shown, len(s.refusals))]
}
func (s standing) latestChanges() []audit.Entry { return s.changes[:min(s.shown, len(s.changes))] }

// requestJSON is the refusal that was asked about.
func (s standing) requestJSON() json.RawMessage {
	if s.request == nil {
		return nil
	}
	return raw(object[usage.RefusalRecord]{refusalView, *s.request})
}

// printStanding prints a person the sentence first, then what is behind it.
func printStanding(f *factory, s standing) error {
	j := judged{s, s.verdict()}
	switch f.format() {
	case "json", "csv":
		return printOne(f, append(standingView[:len(standingView):len(standingView)], nestedView...), j)
	case "table":
		return printJudged(f, j)
	}
	// A pipe gets a line each.
	if err := printOne(f, append(standingView[:len(standingView):len(standingView)], nestedView[0]), j); err != nil {
		return err
	}
	for _, line := range j.help {
		if _, err := fmt.Fprintf(f.streams.out, "help\t%s\n", cleanCell(line)); err != nil {
			return err
		}
	}
	return printRows(f.streams.out, refusalView.shorts(), j.latestRefusals())
}

func printJudged(f *factory, j judged) error {
	var said string
	if j.request != nil {
		said = paragraph("Request "+j.request.RequestID+" was refused "+refusalText(*j.request)+".", f.streams.width)
	}
	said += paragraph("Key "+j.key.ID+named(j.key)+" of tenant "+j.tenant.Name+": "+strings.ToLower(j.because[:1])+j.because[1:], f.streams.width)
	for _, line := range j.help {
		if line = "- " + line; strings.Contains(line, "petstorectl ") {
			// A command stays in one line, to be copied.
			said += cleanCell(line) + "\n"
		} else {
			said += paragraph(line, f.streams.width)
		}
	}
	if _, err := io.WriteString(f.streams.out, said+"\n"); err != nil {
		return err
	}
	if err := printOne(f, standingView[1:], j); err != nil {
		return err
	}
	if err := section(f, fmt.Sprintf("Refusals, the last %d of %d kept", len(j.latestRefusals()), len(j.refusals)), refusalView.exact(), j.latestRefusals()); err != nil {
		return err
	}
	bans := banView(j.now).without("key_id").without("tenant").with("status")
	if err := section(f, "Bans", bans, j.latestBans()); err != nil {
		return err
	}
	return section(f, "Changes", auditView.without("subject"), j.latestChanges())
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
