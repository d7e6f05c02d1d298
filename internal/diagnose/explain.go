package diagnose

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"petstore.example/docs"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/spelling"
	"petstore.example/internal/usage"
)

// Explain says what the response to a failed request was, and why. Customers read it too, so it
// names no person and no command. lifted is the time at which the ban that refused the request was
// lifted, zero if it was not.
func Explain(f *usage.FailedRequest, lifted time.Time) string {
	text, more := "The request was answered "+Answer(f, lifted)+".", Reasons[f.Reason]
	if more == "" && f.Window == "" {
		more = Docs()[f.Code].When
	}
	return strings.TrimSpace(text + " " + more)
}

// Answer describes the response to a failed request, such as "with 404 pet_not_found at
// 2026-11-20T09:21:48Z", with the limit that refused it, and until when.
func Answer(f *usage.FailedRequest, lifted time.Time) string {
	text := fmt.Sprintf("with %d %s at %s", f.Status, f.Code, f.At.UTC().Format(time.RFC3339)) + OverLimit(f)
	if !lifted.IsZero() {
		text += " (lifted at " + lifted.UTC().Format(time.RFC3339) + ")"
	} else if f.Reset > 0 {
		text += ", until " + time.Unix(f.Reset, 0).UTC().Format(time.RFC3339)
	}
	return text
}

// OverLimit says which limit refused a request, "" if none did.
func OverLimit(f *usage.FailedRequest) string {
	window := f.Window
	if window == string(limits.Key) || window == string(limits.Address) {
		window = string(limits.Minute)
	}
	switch limit := spelling.Count(f.Limit, "request") + " per " + window; {
	case f.Partial:
		return ", over one server's share of " + limit
	case f.Window == string(limits.Key):
		return ", over the key's own " + limit
	case f.Window == string(limits.Address):
		return ", over " + limit + " of an address without a valid key"
	case f.Window != "":
		// The limit may be a boost's, not the plan's.
		return ", over the account's limit of " + limit + " on plan " + f.Plan
	}
	return ""
}

// HourOfUse gives the use in the hours around a refusing minute whose own use is no longer kept. It
// is "" if the window's own use is kept.
func HourOfUse(w *usage.RefusingWindow) string {
	if w == nil || w.Name == string(limits.Day) || w.Name == string(limits.Month) || w.To.Sub(w.From) <= time.Minute {
		return ""
	}
	span, used := "hour", int64(0)
	if w.To.Sub(w.From) > time.Hour {
		span = "two hours"
	}
	for _, u := range w.Used {
		used += u.Admitted
	}
	return fmt.Sprintf(
		"In the %s from %s to %s, %s requests were admitted; the minute's limit is %s. That minute's use is no "+
			"longer kept.",
		span,
		w.From.UTC().Format(time.RFC3339),
		w.To.UTC().Format(time.RFC3339),
		spelling.Thousands(used),
		spelling.Thousands(w.Limit),
	)
}

// LiftedAt returns when the ban that refused the request was lifted, zero if it was not.
func LiftedAt(f *usage.FailedRequest, bans []keys.Ban) time.Time {
	for _, b := range bans {
		if f.Code == KeyBanned && time.Unix(f.Reset, 0).Sub(b.EndsAt).Abs() <= time.Second {
			return b.LiftedAt
		}
	}
	return time.Time{}
}

// Reasons explain the reasons of failures where the code does not say enough. The states of a key
// are explained from the key's present state.
var Reasons = map[string]string{
	usage.OtherScheme:    "The Authorization header has another scheme than Bearer.",
	usage.SeveralHeaders: "The request had several Authorization headers.",
	usage.Malformed: "The text that was sent is not an API key: its length, its characters or its " +
		"checksum are wrong. It was probably cut off or changed.",
	usage.OtherEnvironment: "The key is for the other deployment: pst_live_ is for production, pst_test_ for " +
		"staging.",
	usage.UnknownKey:             "The key has the right form, but was never issued in this database.",
	string(keys.Revoked):         "The key was revoked.",
	string(keys.Expired):         "The key had expired.",
	string(keys.TenantSuspended): "The tenant was suspended.",

	usage.DatabaseDown: "The server could not use the database, or got no answer in time.",
	usage.LimitsUndecided: "The server could not decide whether the limits allow it: the servers were agreeing " +
		"where to count, or it alone could not reach Redis.",
	usage.UsageUnrecorded: "Usage could not be recorded in time, and too much of the tenant's was not recorded yet.",
	usage.BodiesFull:      "Too many long bodies arrived at the same time.",
	usage.TimedOut: "It waited for too long: very many requests of the tenant ran at the same time, or the " +
		"database is slow.",
	usage.Uncounted: "It is not counted, and the account sent too many of these within a minute, or a day, or " +
		"at the same time.",
	usage.ClientGone: "The client closed the connection before the response.",
}

// Doc is the entry of an error code in docs/errors.md: when it is the response, and what to do.
type Doc struct{ When, Advice string }

var (
	errorRow = regexp.MustCompile("(?m)^\\| \\d+ \\| `(\\w+)` \\| (.*) \\| (.*) \\|$")
	link     = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
)

// Docs returns the table of docs/errors.md by code, without Markdown.
var Docs = sync.OnceValue(func() map[string]Doc {
	all := map[string]Doc{}
	page, err := docs.FS.ReadFile("errors.md")
	if err != nil {
		// The file is embedded.
		panic(err)
	}
	plain := func(s string) string { return strings.ReplaceAll(link.ReplaceAllString(s, "$1"), "`", "") }
	for _, row := range errorRow.FindAllStringSubmatch(string(page), -1) {
		all[row[1]] = Doc{When: plain(row[2]), Advice: plain(row[3])}
	}
	return all
})
