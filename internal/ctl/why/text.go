package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/diagnose"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// text explains the verdict in a sentence. help says, a line each, what can be done and what
// changes by itself.
func (d *diagnosis) text() (explanation string, help []string) {
	explanation, help = d.verdictText()
	if d.seen && d.Key.Valid(d.Now) {
		help = append(
			help,
			"if it leaked: petstorectl key rotate "+d.Key.ID+" --grace-period 0",
			"or: petstorectl key revoke "+d.Key.ID,
		)
	}
	return explanation, append(help, d.nextPlanHelp()...)
}

// nextPlanHelp says which plan follows by itself.
func (d *diagnosis) nextPlanHelp() []string {
	n := tenant.Next(d.Tenant)
	if n.Plan == "" {
		return nil
	}
	return []string{
		fmt.Sprintf(
			"from %s the tenant has plan %s, %s requests per minute, %s per day: see petstorectl plan schedule "+
				"--tenant %s",
			output.Text(d.Tenant.Until),
			n.Plan,
			output.Thousands(n.Quota.PerMinute),
			output.Thousands(n.Quota.PerDay),
			d.Tenant.Name,
		),
	}
}

func (d *diagnosis) verdictText() (explanation string, help []string) {
	k, t, q := d.Key, d.Tenant, d.Tenant.Quota
	refused := "Requests are refused with " + d.status()
	if !d.verdict.Until.IsZero() {
		refused += " until " + output.Text(d.verdict.Until)
	}
	switch d.verdict.Reason {
	case string(keys.Revoked):
		return fmt.Sprintf(
				"%s: the key was revoked at %s%s.",
				refused,
				output.Text(k.RevokedAt),
				byActor(d.change("key.revoke")),
			),
			[]string{
				"issue another key: petstorectl key issue " + t.Name,
			}
	case string(keys.Expired):
		return d.expiredText(refused)
	case string(keys.TenantSuspended):
		return fmt.Sprintf(
				"%s: tenant %s was suspended at %s%s.",
				refused,
				t.Name,
				output.Text(t.SuspendedAt),
				byActor(d.change("tenant.suspend")),
			),
			[]string{
				"resume the tenant: petstorectl tenant resume " + t.Name,
			}
	case diagnose.Banned:
		return d.bannedText(refused, *d.Ban())
	case diagnose.Partial:
		return d.partialText(refused)
	case string(limits.Day):
		return fmt.Sprintf(
			"%s: tenant %s has used its %s requests of this day.",
			refused,
			t.Name,
			output.Thousands(q.PerDay),
		), d.moreHelp(limits.Day)
	case string(limits.Month):
		return d.monthText(refused), d.moreHelp(limits.Month)
	case string(limits.Key):
		return fmt.Sprintf("%s: the key's own limit is %s.", refused, key.LimitText(k)),
			[]string{spread, "change the key's limit: petstorectl key edit " + k.ID + " --per-minute N"}
	case string(limits.Minute):
		return fmt.Sprintf(
				"%s: tenant %s has used its %s requests of this minute.",
				refused,
				t.Name,
				output.Thousands(q.PerMinute),
			),
			append(
				[]string{spread},
				d.moreHelp(limits.Minute)...)
	}
	return d.admittedText()
}

// partialText explains a refusal that may come before the limit is used up.
func (d *diagnosis) partialText(refused string) (explanation string, help []string) {
	const share = "the servers could not share their counters, and one of them had used its share of the limit."
	if d.verdict.Code != diagnose.MonthlyQuotaExceeded {
		return refused + ": " + share, []string{"check the servers and Redis: petstorectl doctor"}
	}
	limit, _ := d.Tenant.Quota.Month.Cap()
	explanation = fmt.Sprintf("%s: tenant %s has used %s requests that its month admits", refused, d.Tenant.Name,
		output.Thousands(d.Month.Counted())+" of the "+output.Thousands(limit))
	if d.silent == 0 {
		return explanation + "; " + share, d.moreHelp(limits.Month)
	}
	return fmt.Sprintf("%s. What %s that ended silently in this month may have admitted without a record counts as "+
			"used: %s at most.", explanation, output.Count(d.silent, "server"), output.Thousands(d.margin)),
		d.moreHelp(limits.Month)
}

// monthText explains a refusal by the month.
func (d *diagnosis) monthText(refused string) string {
	month := d.Tenant.Quota.Month
	text := fmt.Sprintf(
		"%s: tenant %s has used the %s requests that its month includes",
		refused,
		d.Tenant.Name,
		output.Thousands(month.Included),
	)
	if limit, _ := month.Overage.Limit(month.Included); limit > 0 {
		text += " and " + output.Thousands(limit) + " more"
	}
	return text + "."
}

const spread = "spread the client's requests, and wait for Retry-After"

// status is the status and the code of the answer.
func (d *diagnosis) status() string {
	if d.verdict.Code == diagnose.InvalidAPIKey {
		return "401 " + d.verdict.Code
	}
	return "429 " + d.verdict.Code
}

func (d *diagnosis) expiredText(refused string) (explanation string, help []string) {
	expired := " expired at " + output.Text(d.Key.ExpiresAt) + "."
	help = []string{"issue another key: petstorectl key issue " + d.Key.TenantName}
	e := d.change("key.rotate")
	if e == nil {
		return refused + ": the key" + expired, help
	}
	if d.Key.ReplacedBy != "" {
		help = []string{"show its replacement: petstorectl key show " + d.Key.ReplacedBy}
	}
	return refused + ": the key was rotated at " + output.Text(e.At) + byActor(e) + ", and" + expired, help
}

func (d *diagnosis) bannedText(refused string, b keys.Ban) (explanation string, help []string) {
	help = []string{"wait for the end of the ban, or lift it: petstorectl ban lift " + b.KeyID}
	reason := strings.TrimRight(b.Reason, ".")
	if b.Source == keys.Automatic {
		last := d.LastRefusal()
		reason += diagnose.OverLimit(&last)
		help = append(help, "make the client wait for Retry-After: the next ban will last "+durationText(d.nextBan))
	}
	return refused + ": " + reason + ".", help
}

func (d *diagnosis) admittedText() (explanation string, help []string) {
	if slices.ContainsFunc(d.Failed, func(f usage.FailedRequest) bool { return f.Reason == usage.OtherEnvironment }) {
		help = append(help, key.EnvironmentText(d.Key.Environment))
	}
	if d.Key.LastUsedAt.IsZero() {
		help = append(help, "the key was never used; find out which key the client sends: petstorectl why -")
	}
	if len(d.Failed) > 0 {
		help = append(
			help,
			"the last failed request was answered "+answer(
				d.Failed[0],
				d.Bans,
			)+": petstorectl why "+d.Failed[0].RequestID,
		)
	}
	explanation = "Requests are admitted, according to what is recorded."
	if text := key.AccessText(d.Key); text != "" {
		explanation += " The key " + text + ": anything else is refused with 403."
	}
	return explanation, help
}

// moreHelp says how the tenant gets more of a window: the smallest plan on sale that has more, and
// a boost for the rest of a day or a month.
func (d *diagnosis) moreHelp(window limits.WindowName) []string {
	larger, q, what := plans.Enterprise+" --per-minute N --per-day N", d.Tenant.Quota, "a larger plan"
	if window == limits.Month {
		// A plan without a month admits more, and may include nothing.
		larger, what = larger+" --per-month N", "a plan with more per month, at its price"
	}
	for _, p := range d.plans {
		if p.Quota != nil && p.Sold(d.Now) && diagnose.HasMore(*p.Quota, q, window) {
			larger = p.Name
			break
		}
	}
	help := []string{"assign " + what + ": petstorectl plan assign " + d.Tenant.Name + " " + larger}
	end := d.DayEnd()
	switch window {
	case limits.Month:
		end = d.MonthEnd()
	case limits.Day:
	default:
		return help
	}
	return append(help, fmt.Sprintf("or for this %s only: petstorectl plan boost %s --per-%s N --until %s",
		window, d.Tenant.Name, window, output.Text(end)))
}

// planText is the tenant's plan with its numbers, and when a boost ends.
func planText(t plans.Tenant) string {
	text := t.Plan + ": " + tenant.QuotaText(t.Quota)
	switch {
	case t.Kind != plans.Boost:
		return text
	case t.Until.IsZero():
		return text + ", by a boost without an end"
	}
	return text + ", by a boost until " + output.Text(t.Until)
}

// byActor says who made a change and why; nothing if the change is unknown. The name of a person is
// a claim.
func byActor(e *audit.Entry) string {
	if e == nil {
		return ""
	}
	text := " by " + output.Clean(e.Login) + " (claimed actor: " + output.Clean(e.ClaimedActor)
	if e.Reason != "" {
		text += "; reason: " + output.Clean(e.Reason)
	}
	return text + ")"
}

// durationText is 30 seconds, 15 minutes, 1 hour or 24 hours.
func durationText(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return output.Count(int64(d/time.Hour), "hour")
	case d%time.Minute == 0:
		return output.Count(int64(d/time.Minute), "minute")
	}
	return output.Count(int64(d/time.Second), "second")
}
