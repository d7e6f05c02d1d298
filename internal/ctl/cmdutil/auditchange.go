package cmdutil

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/output"
)

// AuditChange says in a few words what an entry changed: "free → pro", "expires 2026-12-04 →
// 2027-01-01", "name changed".
func AuditChange(e audit.Entry) string {
	before, after := AuditMembers(e.Before), AuditMembers(e.After)
	if text := audit.FindEvent(e.Action).Change; text != "" {
		return memberName.ReplaceAllStringFunc(
			text,
			func(name string) string { return moment(e, after[strings.Trim(name, "{}")]) },
		)
	}
	var parts []string
	switch {
	case len(before) == 0:
		parts = begun(e, after)
	case len(after) > 0:
		parts = differences(e, before, after)
	}
	for _, name := range e.Redacted() {
		if len(before) > 0 {
			parts = append(parts, name+" changed")
		}
	}
	text := strings.Join(parts, ", ")
	if from, err := time.Parse(time.RFC3339, after["from"]); err == nil && from.After(e.At.Add(time.Minute)) {
		text += " from " + moment(e, after["from"])
	}
	if until := after["until"]; until != "" && until != before["until"] {
		text += " until " + moment(e, until)
	}
	return strings.TrimSpace(text)
}

var memberName = regexp.MustCompile(`\{[a-z_]+\}`)

// begun says what matters about a new subject: its plan, or else its limits, scope, addresses and
// expiry.
func begun(e audit.Entry, after map[string]string) (parts []string) {
	if plan := after["plan"]; plan != "" {
		return []string{plan}
	}
	for _, name := range []string{
		"per_minute", "per_day", "per_month", "overage", "scope", "allowed_addresses", "expires_at",
	} {
		if after[name] != "" {
			parts = append(parts, shortMember(name)+" "+value(e, after[name]))
		}
	}
	return parts
}

// auditMembers are the members whose differences are shown, the most important first. Other members
// follow from these or are of no interest.
var auditMembers = []string{
	"plan",
	"per_minute",
	"per_day",
	"per_month",
	"overage",
	"scope",
	"allowed_addresses",
	"title",
	"price",
	"unlisted",
	"version",
	"retires_at",
	"expires_at",
	"revoked_at",
	"billing_ref",
	"suspended_at",
	"minute_used",
	"day_used",
	"month_used",
	"roles",
}

func differences(e audit.Entry, before, after map[string]string) (parts []string) {
	for _, name := range auditMembers {
		was, is := before[name], after[name]
		switch {
		case was == is:
		case name == "plan":
			// The numbers follow from the plan.
			return []string{was + " → " + is}
		default:
			parts = append(parts, shortMember(name)+" "+value(e, was)+" → "+value(e, is))
		}
	}
	if at := after["valid_from"]; len(parts) > 0 && at != before["valid_from"] &&
		slices.ContainsFunc(parts, isVersion) {
		parts = append(parts, "from "+moment(e, at))
	}
	return parts
}

func isVersion(part string) bool { return strings.HasPrefix(part, "version ") }

// shortMember is the name of a member in a few letters.
func shortMember(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, "_at"), "_used")
}

// value is the text of a member: "-" for none.
func value(e audit.Entry, text string) string {
	if text == "" {
		return "-"
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return output.Thousands(n)
	}
	return moment(e, text)
}

// moment shows a time to the day, or to the minute on the day of the entry. A text that is not a
// time is unchanged.
func moment(e audit.Entry, text string) string {
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		return text
	case at.UTC().Truncate(24 * time.Hour).Equal(e.At.UTC().Truncate(24 * time.Hour)):
		return at.UTC().Format("15:04Z")
	}
	return at.UTC().Format(time.DateOnly)
}

// AuditMembers returns the members of a record as text, except the member "redacted".
func AuditMembers(record json.RawMessage) map[string]string {
	var members map[string]json.RawMessage
	all := map[string]string{}
	if json.Unmarshal(record, &members) != nil {
		return all
	}
	for name, value := range members {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		if name != "redacted" {
			all[name] = text
		}
	}
	return all
}
