package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	auditcmd "petstore.example/internal/ctl/audit"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/diagnose"
	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

// add adds the key if it is relevant, else counts it.
func (d *tenantDiagnosis) add(k *diagnosis) {
	if !k.Key.Valid(d.now) && len(k.Failed) == 0 {
		d.left++
		return
	}
	d.keys = append(d.keys, k)
}

// sort puts refused keys first. Among refused keys, and among the others, those with failed
// requests come first, and then those that failed or were used last.
func (d *tenantDiagnosis) sort() {
	slices.SortStableFunc(d.keys, func(a, b *diagnosis) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), b.lastSeen().Compare(a.lastSeen()))
	})
}

func (d *diagnosis) rank() int {
	rank := 0
	if !d.refused() {
		rank = 2
	}
	if len(d.Failed) == 0 {
		rank++
	}
	return rank
}

func (d *diagnosis) refused() bool { return d.verdict.Code != diagnose.Admitted }

// lastSeen is when the key last failed or was used.
func (d *diagnosis) lastSeen() time.Time {
	last := d.Key.LastUsedAt
	if len(d.Failed) > 0 && d.Failed[0].At.After(last) {
		last = d.Failed[0].At
	}
	return last
}

// refusedKeys is the number of keys that are refused now.
func (d *tenantDiagnosis) refusedKeys() (n int64) {
	for _, k := range d.keys {
		if k.refused() {
			n++
		}
	}
	return n
}

// bansOf returns the bans of a key, if it is relevant.
func (d *tenantDiagnosis) bansOf(keyID string) []keys.Ban {
	for _, k := range d.keys {
		if k.Key.ID == keyID {
			return k.Bans
		}
	}
	return nil
}

// verdict is the first key's verdict. Without a key, nothing is refused.
func (d *tenantDiagnosis) verdict() diagnose.Verdict {
	if d.hidden {
		return diagnose.Verdict{}
	}
	if len(d.keys) == 0 {
		return diagnose.Verdict{Code: diagnose.Admitted}
	}
	return d.keys[0].verdict
}

// text explains the verdict.
func (d *tenantDiagnosis) text() (explanation string, help []string) {
	name := d.tenant.Name
	switch {
	case d.hidden:
		return fmt.Sprintf("Tenant %s: your login may not read its keys and requests.", name),
			[]string{
				"what it had: petstorectl plan history " + name,
				"what it used: petstorectl usage show --by day --tenant " + name,
			}
	case len(d.keys) == 0:
		return fmt.Sprintf(
				"Tenant %s has no key that is valid or was used in the last day.",
				name,
			), []string{
				"issue a key: petstorectl key issue " + name,
			}
	}
	worst, refused := d.keys[0], d.refusedKeys()
	if refused == 0 {
		explanation = fmt.Sprintf("Tenant %s: requests are admitted, according to what is recorded.", name)
		if len(d.failed) > 0 {
			help = append(
				help,
				"the last failed request was answered "+answer(
					d.failed[0],
					d.bansOf(d.failed[0].KeyID),
				)+": petstorectl why "+d.failed[0].RequestID,
			)
		}
		return explanation, append(help, worst.nextPlanHelp()...)
	}
	what := fmt.Sprintf("%d of %d keys are refused", refused, len(d.keys))
	switch {
	case len(d.keys) == 1:
		what = "its key is refused"
	case refused == 1:
		what = fmt.Sprintf("1 of %d keys is refused", len(d.keys))
	}
	reason, help := worst.text()
	return fmt.Sprintf(
		"Tenant %s: %s. Key %s%s: %s",
		name,
		what,
		worst.Key.ID,
		key.NameSuffix(worst.Key),
		lowerFirst(reason),
	), help
}

// keyRow shows a key of a tenant.
var keyRow = output.View[*diagnosis]{
	{Name: "key_id", Value: func(d *diagnosis) any { return d.Key.ID }, InList: true, MinWidth: output.IDWidth},
	{Name: "name", Value: func(d *diagnosis) any { return d.Key.Name }, InList: true, MinWidth: len("NAME")},
	{Name: "environment", Heading: "ENV", Value: func(d *diagnosis) any { return string(d.Key.Environment) }},
	{Name: "last4", Value: func(d *diagnosis) any { return d.Key.Last4 }},
	{Name: "status", Value: func(d *diagnosis) any { return string(d.Key.Status(d.Now)) }},
	{Name: "verdict", Value: func(d *diagnosis) any { return d.verdict.Code }, InList: true},
	{Name: "reason", Value: func(d *diagnosis) any { return d.verdict.Reason }, InList: true},
	{Name: "until", Value: func(d *diagnosis) any { return d.verdict.Until }},
	{
		Name:    "last_used_at",
		Heading: "LAST USED",
		Value:   func(d *diagnosis) any { return d.Key.LastUsedAt },
		InList:  true,
	},
	{Name: "used_today", Value: func(d *diagnosis) any { return d.today.Admitted }},
	{Name: "refused_24h", Heading: "REFUSED", Value: func(d *diagnosis) any { return d.lastDay.Refused }, InList: true},
	{Name: "failed_24h", Value: func(d *diagnosis) any { return int64(len(d.Failed)) }},
}

// TenantView shows the diagnosis of a tenant.
var TenantView = tenantView(nil)

func tenantView(o *options) output.View[*tenantDiagnosis] {
	return output.View[*tenantDiagnosis]{
		{Name: "verdict", Value: func(d *tenantDiagnosis) any { return d.verdict().Code }},
		{Name: "reason", Value: func(d *tenantDiagnosis) any { return d.verdict().Reason }},
		{Name: "until", Value: func(d *tenantDiagnosis) any { return d.verdict().Until }},
		{Name: "tenant", Value: func(d *tenantDiagnosis) any { return d.tenant.Name }},
		{Name: "tenant_id", Value: func(d *tenantDiagnosis) any { return d.tenant.ID }},
		{Name: "tenant_status", Value: func(d *tenantDiagnosis) any { return tenant.Status(d.tenant) }},
		{Name: "email", Value: func(d *tenantDiagnosis) any { return d.tenant.Email }},
		{Name: "billing_ref", Value: func(d *tenantDiagnosis) any { return d.tenant.BillingRef }},
		{Name: "plan", Value: func(d *tenantDiagnosis) any { return d.tenant.Plan }},
		{Name: "per_minute", Value: func(d *tenantDiagnosis) any { return d.tenant.Quota.PerMinute }},
		{Name: "per_day", Value: func(d *tenantDiagnosis) any { return d.tenant.Quota.PerDay }},
		{Name: "used_today", Value: func(d *tenantDiagnosis) any { return d.today }},
		{Name: "remaining_today", Value: func(d *tenantDiagnosis) any { return max(0, d.tenant.Quota.PerDay-d.today) }},
		{Name: "used_this_month", Value: func(d *tenantDiagnosis) any { return countedIn(&d.tenant, d.month) }},
		{Name: "month_overage", Value: func(d *tenantDiagnosis) any { return overageIn(&d.tenant, d.month) }},
		{Name: "refused_24h", Value: func(d *tenantDiagnosis) any { return d.refused }},
		{Name: "refused_keys", Value: func(d *tenantDiagnosis) any { return d.refusedKeys() }},
		{Name: "other_keys", Value: func(d *tenantDiagnosis) any { return int64(d.left) }},
		{Name: "explanation", Value: func(d *tenantDiagnosis) any { explanation, _ := d.text(); return explanation }},
		{Name: "help", Value: func(d *tenantDiagnosis) any { _, help := d.text(); return help }},
		{Name: "keys", Value: func(d *tenantDiagnosis) any { return output.ListJSON(keyRow, d.keys) }},
		{
			Name:  "failed_requests",
			Value: func(d *tenantDiagnosis) any { return output.ListJSON(failedView, shown(o, d.failed)) },
		},
		{
			Name:  "changes",
			Value: func(d *tenantDiagnosis) any { return output.ListJSON(auditcmd.View, shown(o, d.changes)) },
		},
	}
}

func (d *tenantDiagnosis) tenantText() string {
	text := fmt.Sprintf("%s (#%d), %s", d.tenant.Name, d.tenant.ID, tenant.Status(d.tenant))
	if !d.tenant.SuspendedAt.IsZero() {
		text += " since " + output.Text(d.tenant.SuspendedAt)
	}
	return text
}

// failedView names the key of a failed request in a few characters.
func (d *tenantDiagnosis) failedView() output.View[usage.FailedRequest] {
	labels := map[string]string{}
	for _, k := range d.keys {
		labels[k.Key.ID] = key.Label(k.Key)
	}
	v := failedView.Hide("window")
	at := slices.IndexFunc(v, func(c output.Column[usage.FailedRequest]) bool { return c.Name == "code" })
	return slices.Insert(v, at+1, output.Column[usage.FailedRequest]{
		Name:     "key",
		Value:    func(f usage.FailedRequest) any { return labels[f.KeyID] },
		InList:   true,
		MinWidth: output.TextWidth,
	})
}

func printTenant(o *options, d *tenantDiagnosis) error {
	p, v := o.Printer(), tenantView(o)
	if p.Whole() {
		return output.Item(p, v, d)
	}
	explanation, help := d.text()
	if p.Format == "" {
		return printRows(o, v[:len(v)-4], d, help, shown(o, d.failed), d.keys)
	}
	s := screen{
		options: o, verdict: explanation, help: help,
		facts: []fact{
			{"tenant", d.tenantText()},
			{"plan", planText(d.tenant)},
			{
				"contact",
				strings.Join(
					slices.DeleteFunc(
						[]string{d.tenant.Email, d.tenant.Contact, d.tenant.BillingRef},
						func(s string) bool { return s == "" },
					),
					", ",
				),
			},
			{"used today", usedText(d.today, d.tenant.Quota.PerDay)},
		},
	}
	s.facts = append(append(s.facts, monthFacts(&d.tenant, d.month)...), fact{refusedFact, output.Thousands(d.refused)})
	title := "Keys, the refused ones first"
	if d.left > 0 {
		title += fmt.Sprintf("; %d more are revoked or expired, and unused since", d.left)
	}
	rows := keyRow
	if d.refused == 0 {
		rows = rows.Hide("refused_24h")
	}
	addSection(&s, title, rows, d.keys)
	addSection(&s, failedTitle(d.failed), d.failedView(), d.failed)
	addSection(&s, "Changes", auditcmd.TableView(o.Printer()), d.changes)
	return s.print()
}
