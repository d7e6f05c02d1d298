package why

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/diagnose"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

// requestDiagnosis is a failed request, and what its key is now.
type requestDiagnosis struct {
	usage.FailedRequest
	// doc is what the documentation says of the code, the zero value for a code without any.
	doc errorDoc
	// key is nil if the request had no key that exists, or it is gone.
	key *diagnosis
}

func loadRequest(ctx context.Context, db *store.DB, f usage.FailedRequest, now time.Time) (*requestDiagnosis, error) {
	d := &requestDiagnosis{FailedRequest: f, doc: errorDocs()[f.Code]}
	if f.KeyID == "" {
		return d, nil
	}
	k, err := db.Keys.Get(ctx, f.KeyID)
	if err != nil {
		return nil, err
	}
	d.key, err = loadKey(ctx, db, k, now)
	return d, err
}

// now is the verdict on the key's next request, the zero value without a key.
func (d *requestDiagnosis) now() diagnose.Verdict {
	if d.key == nil {
		return diagnose.Verdict{}
	}
	return d.key.verdict
}

func (d *requestDiagnosis) tenant() string {
	if d.key == nil {
		return ""
	}
	return d.key.Tenant.Name
}

// bans are those of the key.
func (d *requestDiagnosis) bans() []keys.Ban {
	if d.key == nil {
		return nil
	}
	return d.key.Bans
}

// RequestView shows a failed request.
var RequestView = output.View[*requestDiagnosis]{
	{Name: "request_id", Value: func(d *requestDiagnosis) any { return d.RequestID }},
	{Name: "at", Value: func(d *requestDiagnosis) any { return d.At }},
	{Name: "status", Value: func(d *requestDiagnosis) any { return int64(d.Status) }},
	{Name: "code", Value: func(d *requestDiagnosis) any { return d.Code }},
	{Name: "reason", Value: func(d *requestDiagnosis) any { return d.Reason }},
	{Name: "window", Value: func(d *requestDiagnosis) any { return d.Window }},
	{Name: "limit", Value: func(d *requestDiagnosis) any { return output.NumberOrNil(d.Limit) }},
	{Name: "resets_at", Value: func(d *requestDiagnosis) any { return unixOrZero(d.Reset) }},
	{Name: "partial", Value: func(d *requestDiagnosis) any { return d.Partial }},
	{Name: "plan", Value: func(d *requestDiagnosis) any { return d.Plan }},
	{Name: "method", Value: func(d *requestDiagnosis) any { return d.Method }},
	{Name: "route", Value: func(d *requestDiagnosis) any { return d.Route }},
	{Name: "duration_ms", Value: func(d *requestDiagnosis) any { return output.Milliseconds(d.Took) }},
	{Name: "tenant", Value: func(d *requestDiagnosis) any { return d.tenant() }},
	{Name: "key_id", Value: func(d *requestDiagnosis) any { return d.KeyID }},
	{Name: "server_id", Value: func(d *requestDiagnosis) any { return d.ServerID }},
	{Name: "suppressed", Value: func(d *requestDiagnosis) any { return d.Suppressed }},
	{Name: "verdict_now", Value: func(d *requestDiagnosis) any { return d.now().Code }},
	{Name: "reason_now", Value: func(d *requestDiagnosis) any { return d.now().Reason }},
	{Name: "until_now", Value: func(d *requestDiagnosis) any { return d.now().Until }},
	{Name: "explanation", Value: func(d *requestDiagnosis) any { explanation, _ := d.text(); return explanation }},
	{Name: "help", Value: func(d *requestDiagnosis) any { _, help := d.text(); return help }},
}

func printRequest(o *options, d *requestDiagnosis) error {
	p := o.Printer()
	if p.Whole() {
		return output.Item(p, RequestView, d)
	}
	explanation, help := d.text()
	if p.Format == "" {
		return printRows(o, RequestView[:len(RequestView)-1], d, help, nil, nil)
	}
	s := screen{options: o, help: help, verdict: "Request " + d.RequestID + " " + explanation, facts: d.facts()}
	return s.print()
}

func (d *requestDiagnosis) facts() []fact {
	request := d.Method + " " + d.Route
	if d.Route == "" {
		request = d.Method + ", of a path that matches no route"
	}
	list := []fact{{"at", d.At}, {"request", request}, {"duration", string(output.Milliseconds(d.Took)) + " ms"}, {"server", d.ServerID}}
	if d.key != nil {
		list = append(list, fact{"tenant", d.tenant()}, fact{"key id", d.KeyID}, fact{"plan then", d.Plan}, fact{"verdict", d.now().Code})
	}
	if d.Suppressed > 0 {
		list = append(list, fact{"more", fmt.Sprintf("%s of this key before it are not stored", output.Thousands(d.Suppressed))})
	}
	return list
}

// text says what the response was and why, and what can be done.
func (d *requestDiagnosis) text() (explanation string, help []string) {
	explanation, help = "was answered "+failedText(d.FailedRequest, d.bans())+".", d.help()
	switch c := causes[d.Reason]; {
	case c.text != "":
		explanation += " " + c.text
	case d.Window == "":
		explanation += " " + d.doc.when
	}
	if d.key == nil {
		return explanation, help
	}
	if d.key.refused() {
		now, more := d.key.text()
		return explanation + " Now: " + lowerFirst(now), append(help, more...)
	}
	if d.isRefusal() {
		explanation += " Now the key's requests are admitted, according to what is recorded."
	}
	if diagnose.IsShared(&d.FailedRequest) {
		help = append(help, d.key.moreHelp(limits.WindowName(d.Window))...)
	}
	return explanation, append(help, "what else failed: petstorectl why "+d.tenant())
}

// help says what can be done about the request itself, whatever its key is now.
func (d *requestDiagnosis) help() []string {
	switch c := causes[d.Reason]; {
	case d.Status == statusClientGone:
		return []string{"the client did not wait for the response: compare its timeout with the duration"}
	case c.help != "":
		return []string{c.help}
	case d.Code == "internal_error":
		return []string{"find the cause in the log of server " + d.ServerID + " by request_id=" + d.RequestID}
	case d.Window == string(limits.Key):
		return []string{"change the key's limit: petstorectl key edit " + d.KeyID + " --per-minute N"}
	case d.doc.advice == "", d.isRefusal() && d.key != nil && d.key.refused():
		// What the key is now says what to do.
		return nil
	}
	return []string{"for the customer: " + d.doc.advice}
}

// isRefusal reports whether the key or its limits were the reason.
func (d *requestDiagnosis) isRefusal() bool {
	return d.Status == http.StatusUnauthorized || d.Status == http.StatusTooManyRequests
}

// statusClientGone is the status in the log and the metrics of a request whose client disconnected.
const statusClientGone = 499

// failedText describes a failed request of a key with these bans.
func failedText(f usage.FailedRequest, bans []keys.Ban) string {
	text := fmt.Sprintf("with %d %s at %s", f.Status, f.Code, output.Text(f.At)) + overLimit(f)
	if lifted := liftedAt(f, bans); !lifted.IsZero() {
		text += " (lifted at " + output.Text(lifted) + ")"
	} else if f.Reset > 0 {
		text += ", until " + output.Text(time.Unix(f.Reset, 0))
	}
	return text
}

// overLimit says which limit refused a request, "" if none did.
func overLimit(f usage.FailedRequest) string {
	window := f.Window
	if window == string(limits.Key) || window == string(limits.Address) {
		window = string(limits.Minute)
	}
	switch limit := output.Thousands(f.Limit) + " requests per " + window; {
	case f.Partial:
		return ", over one server's share of " + limit
	case f.Window == string(limits.Key):
		return ", over the key's own " + limit
	case f.Window == string(limits.Address):
		return ", over " + limit + " of an address without a valid key"
	case f.Window != "":
		return ", over plan " + f.Plan + "'s " + limit
	}
	return ""
}

// liftedAt is when the ban was lifted by which the request was refused, zero if it was not.
func liftedAt(f usage.FailedRequest, bans []keys.Ban) time.Time {
	for _, b := range bans {
		if f.Code == diagnose.KeyBanned && time.Unix(f.Reset, 0).Sub(b.EndsAt).Abs() <= time.Second {
			return b.LiftedAt
		}
	}
	return time.Time{}
}

// cause is what a reason means, and what staff can do.
type cause struct{ text, help string }

// identifyHelp is for requests whose key is not known.
const identifyHelp = "compare its last four characters: petstorectl key list --tenant TENANT"

// causes are the reasons that a code does not say. The states of a key are explained by what the key is now.
var causes = map[string]cause{
	usage.OtherScheme: {
		"The Authorization header has another scheme than Bearer.", "for the customer: send the header Authorization: Bearer <API key>",
	},
	usage.SeveralHeaders: {
		"The request had several Authorization headers.", "for the customer: send one; a proxy on the way may have added another",
	},
	usage.Malformed: {
		"The text that was sent is not an API key: its length, its characters or its checksum are wrong. It was probably cut off or changed.", identifyHelp,
	},
	usage.OtherEnvironment: {
		"The key is for the other deployment: pst_live_ is for production, pst_test_ for staging.",
		"for the customer: use a key of this deployment, or the base URL of the other one",
	},
	usage.UnknownKey: {
		"The key has the right form, but was never issued in this database.", identifyHelp,
	},
	"revoked":          {"The key was revoked.", ""},
	"expired":          {"The key had expired.", ""},
	"tenant_suspended": {"The tenant was suspended.", ""},

	usage.DatabaseDown: {
		"The server could not use the database, or got no answer in time.", "check the database and the servers: petstorectl doctor",
	},
	usage.LimitsUndecided: {
		"The server could not decide whether the limits allow it: the servers were agreeing where to count, or it alone could not reach Redis.",
		"check the servers and Redis: petstorectl doctor",
	},
	usage.UsageUnrecorded: {
		"Usage could not be recorded in time, and too much of the tenant's was not recorded yet.", "check the database: petstorectl doctor",
	},
	usage.BodiesFull: {
		"Too many long bodies arrived at the same time.", "for the customer: retry after the seconds in Retry-After, with fewer requests at a time",
	},
	usage.TimedOut: {
		"It waited for too long: very many requests of the tenant ran at the same time, or the database is slow.",
		"for the customer: send fewer requests at a time. If others are slow too: petstorectl doctor",
	},
	usage.ClientGone: {"The client closed the connection before the response.", ""},
}
