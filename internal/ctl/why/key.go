package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	auditcmd "petstore.example/internal/ctl/audit"
	"petstore.example/internal/ctl/ban"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// summaryView is printed as names and values. detailView is what JSON and CSV add.
var summaryView = slices.Concat(output.View[*diagnosis]{
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
}, output.Map(planColumns, func(d *diagnosis) plans.Tenant { return d.Tenant }), output.View[*diagnosis]{
	{Name: "key_per_minute", Value: func(d *diagnosis) any { return output.NumberOrNil(d.Key.PerMinute) }},
	{Name: "used_today", Value: func(d *diagnosis) any { return d.UsedToday }},
	{Name: "remaining_today", Value: func(d *diagnosis) any { return max(0, d.Tenant.Quota.PerDay-d.UsedToday) }},
	{Name: "day_resets_at", Value: func(d *diagnosis) any { return d.DayEnd() }},
	{Name: "used_this_month", Value: func(d *diagnosis) any { return countedIn(&d.Tenant, d.Month) }},
	{Name: "month_overage", Value: func(d *diagnosis) any { return overageIn(&d.Tenant, d.Month) }},
	{Name: "key_used_today", Value: func(d *diagnosis) any { return d.today.Admitted }},
	{Name: "key_refused_24h", Value: func(d *diagnosis) any { return d.lastDay.Refused }},
	{Name: "ban_above", Value: func(d *diagnosis) any { return banAbove(d) }},
})

// planColumns are the columns of the plan in force, and of what follows it.
var planColumns = tenant.View.Pick(
	"plan",
	"per_minute",
	"per_day",
	"next_plan",
	"next_per_minute",
	"next_per_day",
	"next_at",
)

func detailView(o *options) output.View[*diagnosis] {
	return output.View[*diagnosis]{
		{Name: "explanation", Value: func(d *diagnosis) any { explanation, _ := d.text(); return explanation }},
		{Name: "help", Value: func(d *diagnosis) any { _, help := d.text(); return help }},
		{Name: "bans", Value: func(d *diagnosis) any { return output.ListJSON(ban.View(d.Now), shown(o, d.Bans)) }},
		{
			Name:  "failed_requests",
			Value: func(d *diagnosis) any { return output.ListJSON(failedView, shown(o, d.Failed)) },
		},
		{Name: "changes", Value: func(d *diagnosis) any { return output.ListJSON(auditcmd.View, shown(o, d.changes)) }},
	}
}

// KeyView shows the diagnosis of a key.
var KeyView = slices.Concat(summaryView, detailView(nil))

// failedView shows a failed request in a list.
var failedView = output.View[usage.FailedRequest]{
	{Name: "at", Value: func(f usage.FailedRequest) any { return f.At }, InList: true},
	{Name: "status", Value: func(f usage.FailedRequest) any { return int64(f.Status) }, InList: true},
	{Name: "code", Value: func(f usage.FailedRequest) any { return f.Code }, InList: true, MinWidth: output.TextWidth},
	{Name: "reason", Value: func(f usage.FailedRequest) any { return f.Reason }},
	{Name: "window", Value: func(f usage.FailedRequest) any { return f.Window }, InList: true},
	{Name: "limit", Value: func(f usage.FailedRequest) any { return output.NumberOrNil(f.Limit) }},
	{Name: "resets_at", Value: func(f usage.FailedRequest) any { return unixOrZero(f.Reset) }},
	{Name: "partial", Value: func(f usage.FailedRequest) any { return f.Partial }},
	{Name: "plan", Value: func(f usage.FailedRequest) any { return f.Plan }},
	{Name: "key_id", Value: func(f usage.FailedRequest) any { return f.KeyID }, MinWidth: output.IDWidth},
	{Name: "method", Value: func(f usage.FailedRequest) any { return f.Method }},
	{Name: "route", Value: func(f usage.FailedRequest) any { return f.Route }},
	{Name: "duration_ms", Value: func(f usage.FailedRequest) any { return output.Milliseconds(f.Took) }},
	{Name: "suppressed", Heading: "MORE", Value: func(f usage.FailedRequest) any { return f.Suppressed }, InList: true},
	{
		Name:     "request_id",
		Value:    func(f usage.FailedRequest) any { return f.RequestID },
		InList:   true,
		MinWidth: output.IDWidth,
	},
	{Name: "server_id", Value: func(f usage.FailedRequest) any { return f.ServerID }},
}

func printKey(o *options, d *diagnosis) error {
	p, v := o.Printer(), slices.Concat(summaryView, detailView(o))
	if p.Whole() {
		return output.Item(p, v, d)
	}
	explanation, help := d.text()
	if p.Format == "" {
		return printRows(o, v[:len(summaryView)+1], d, help, shown(o, d.Failed), nil)
	}
	s := screen{
		options: o,
		help:    help,
		verdict: "Key " + d.Key.ID + key.NameSuffix(d.Key) + " of tenant " + d.Tenant.Name + ": " + lowerFirst(
			explanation,
		),
		facts: d.facts(),
		item:  func(p output.Printer) error { return output.Item(p, summaryView, d) },
	}
	addSection(&s, failedTitle(d.Failed), failedView, d.Failed)
	addSection(&s, "Bans", bansView(d), d.Bans)
	addSection(&s, "Changes", auditcmd.TableView(o.Printer()).Hide("subject"), d.changes)
	return s.print()
}

// bansView shows the bans of a key: when each ends, or when it was lifted.
func bansView(d *diagnosis) output.View[keys.Ban] {
	v := ban.View(d.Now).Hide("key_id", "tenant").Show("status")
	if slices.ContainsFunc(d.Bans, func(b keys.Ban) bool { return !b.LiftedAt.IsZero() }) {
		v = v.Show("lifted_at")
	}
	return v.With("ends_at", func(b keys.Ban) any {
		if !b.LiftedAt.IsZero() {
			return time.Time{}
		}
		return b.EndsAt
	})
}

// facts are the summary in a few lines.
func (d *diagnosis) facts() []fact {
	state := fmt.Sprintf("%s, %s, ends in %s", d.Key.Status(d.Now), d.Key.Environment, d.Key.Last4)
	if !d.Key.ExpiresAt.IsZero() {
		state += ", expires " + output.Text(d.Key.ExpiresAt)
	}
	limit := planText(d.Tenant)
	if d.Key.PerMinute > 0 {
		limit += fmt.Sprintf("; the key's own: %s", key.LimitText(d.Key))
	}
	list := []fact{{"key", state}, {"plan", limit}}
	if next := tenant.Next(d.Tenant); next.Plan != "" {
		list = append(list, fact{"next plan", next.Plan + " from " + output.Text(d.Tenant.Until)})
	}
	list = append(
		list,
		fact{
			"used today",
			usedText(d.UsedToday, d.Tenant.Quota.PerDay) + ", " + output.Thousands(d.today.Admitted) + " by this key",
		},
	)
	return append(
		append(list, monthFacts(&d.Tenant, d.Month)...),
		fact{refusedFact, output.Thousands(d.lastDay.Refused)},
		fact{"ban above", output.Thousands(banAbove(d)) + " refusals a minute by one server"},
		fact{"last used", d.Key.LastUsedAt},
	)
}

// banAbove is the most refusals by one server within a minute window that do not ban the key.
func banAbove(d *diagnosis) int64 {
	return keys.MostRefusals(d.Tenant.Quota.PerMinute, d.Key.PerMinute)
}

// refusedFact names the counted refusals: those by limits and bans, but not those of invalid keys.
const refusedFact = "refused by limits 24h"

// countedIn returns how many requests count in the tenant's month, nil if it has none.
func countedIn(t *plans.Tenant, m usage.Month) *int64 {
	if t.Quota.Month.Kind != plans.SomeMonth {
		return nil
	}
	return new(m.Counted())
}

// overageIn returns how many of them are billed above the included ones.
func overageIn(t *plans.Tenant, m usage.Month) *int64 {
	if t.Quota.Month.Kind != plans.SomeMonth {
		return nil
	}
	return new(m.Overage())
}

// monthFacts has a fact if the tenant has a month.
func monthFacts(t *plans.Tenant, m usage.Month) []fact {
	used := countedIn(t, m)
	if used == nil {
		return nil
	}
	text := output.Thousands(*used)
	if limit, ok := t.Quota.Month.Cap(); ok {
		text = usedText(*used, limit)
	}
	return []fact{{"used this month", text + ", " + output.Thousands(m.Overage()) + " billed above those included"}}
}

func usedText(used, quota int64) string {
	return output.Thousands(used) + " of " + output.Thousands(quota)
}

func failedTitle(list []usage.FailedRequest) string {
	return fmt.Sprintf("Failed requests of the last day: %s stored", output.Thousands(int64(len(list))))
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

func unixOrZero(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}
