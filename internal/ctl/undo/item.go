package undo

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

// item is a change that an undo made.
type item struct {
	store.Undone
	// Number is that of its entry, 0 after a dry run.
	Number int64
}

// View shows what an undo changed: the entry that it took back, and its own.
var View = output.View[item]{
	{Name: "undoes", Value: func(i item) any { return i.Entry.Number }, InList: true},
	{Name: "number", Value: func(i item) any { return output.NumberOrNil(i.Number) }, InList: true},
	{Name: "action", Value: func(i item) any { return i.Action }, InList: true},
	{Name: "tenant_id", Value: func(i item) any { return output.NumberOrNil(i.Entry.TenantID) }},
	{Name: "tenant", Value: func(i item) any { return i.Entry.TenantName }, InList: true},
	{Name: "subject", Value: func(i item) any { return i.Subject }, InList: true, MinWidth: output.IDWidth},
	{Name: "before", Value: func(i item) any { return i.Before }},
	{Name: "after", Value: func(i item) any { return i.After }},
}

func itemsOf(undone []store.Undone, numbers audit.Numbers) []item {
	items := make([]item, len(undone))
	for n, u := range undone {
		items[n] = item{Undone: u}
		if n < len(numbers) {
			items[n].Number = numbers[n]
		}
	}
	return items
}

// record is what the sentences need of the records of entries.
type record struct {
	Plan       string     `json:"plan"`
	PerMinute  int64      `json:"per_minute"`
	PerDay     int64      `json:"per_day"`
	From       time.Time  `json:"from"`
	ValidFrom  time.Time  `json:"valid_from"`
	Until      *time.Time `json:"until"`
	EndsAt     time.Time  `json:"ends_at"`
	ExpiresAt  *time.Time `json:"expires_at"`
	RetiresAt  *time.Time `json:"retires_at"`
	Version    int        `json:"version"`
	Assignment int64      `json:"assignment"`
}

// harms reports whether the undo refuses requests of the tenant.
func (i item) harms() bool {
	return i.Action == "key.revoke" || i.Action == "tenant.suspend" || i.Action == "ban.place"
}

// sentence says what is so after the undo.
func (i item) sentence() string {
	var before, after record
	// What is no object has no members.
	_, _ = json.Unmarshal(i.Before, &before), json.Unmarshal(i.After, &after)
	tenant, key := "tenant "+i.Entry.TenantName, "key "+i.Subject+" of tenant "+i.Entry.TenantName
	switch i.Action {
	case "tenant.suspend":
		return tenant + " is suspended"
	case "tenant.resume":
		return tenant + " is active"
	case "key.revoke":
		return key + " is revoked"
	case "key.unrevoke":
		return key + " is active again"
	case "ban.place":
		return key + " is banned until " + output.Text(after.EndsAt)
	case "ban.lift":
		return key + " is not banned"
	case "plan.assign", "plan.boost", "plan.unschedule":
		return fmt.Sprintf("%s is on plan %s: %s%s", tenant, after.Plan, quotaText(after), fromText(after))
	case "plan.void":
		return fmt.Sprintf("assignment %d of %s is void", after.Assignment, tenant)
	case "plan.unvoid":
		return fmt.Sprintf("assignment %d of %s is not void", after.Assignment, tenant)
	case "plan.retire":
		return fmt.Sprintf("plan %s retires at %s", planOfSubject(i.Subject), output.Text(*after.RetiresAt))
	case "plan.resell":
		return "plan " + planOfSubject(i.Subject) + " is sold"
	case "plan.edit", "plan.withdraw":
		return fmt.Sprintf("the last version of plan %s is %d%s, from %s on", planOfSubject(i.Subject), after.Version, versionText(after), output.Text(after.ValidFrom))
	case "key.edit":
		return key + " has the former " + strings.Join(changedMembers(i), ", ")
	}
	return tenant + " has the former " + strings.Join(changedMembers(i), ", ")
}

// changedMembers returns what an edit restored, in words.
func changedMembers(i item) []string {
	e := audit.Entry{Action: i.Action, Before: i.Before, After: i.After}
	names := e.Changed()
	for n, name := range names {
		names[n] = strings.ReplaceAll(name, "_", " ")
	}
	return names
}

func quotaText(r record) string {
	return output.Thousands(r.PerMinute) + " requests per minute, " + output.Thousands(r.PerDay) + " per day"
}

func versionText(r record) string {
	if r.PerMinute == 0 {
		return ""
	}
	return " with " + quotaText(r)
}

func fromText(r record) string {
	if r.Until == nil {
		return ", from " + output.Text(r.From) + " on"
	}
	return ", from " + output.Text(r.From) + " to " + output.Text(*r.Until)
}

func planOfSubject(subject string) string {
	_, name, _ := strings.Cut(subject, ":")
	return name
}

// planOf is the plan that an entry is about, "" for none.
func planOf(e audit.Entry) string {
	if isOfBilling(e) && e.TenantID == 0 {
		return planOfSubject(e.Subject)
	}
	var after record
	_ = json.Unmarshal(e.Before, &after)
	return after.Plan
}

// isOfBilling reports whether the entry is of a change that billing makes.
func isOfBilling(e audit.Entry) bool {
	return strings.HasPrefix(e.Subject, "plan:") || e.Action == "plan.void" || e.Action == "plan.unvoid"
}

// numberIn is the text of the innermost error before its last colon: "entry 17".
func numberIn(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if text, _, ok := strings.Cut(inner.Error(), ":"); ok && strings.HasPrefix(text, "entry ") {
			return text
		}
	}
	return "it was not found"
}
