package why

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/diagnose"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

// requestDiagnosis is a failed request, and the present state of its key.
type requestDiagnosis struct {
	usage.FailedRequest
	// doc is what the documentation says about the code, zero if it says nothing.
	doc diagnose.Doc
	// key is the zero value if the request had no existing key.
	key *diagnosis
}

func loadRequest(ctx context.Context, db *store.DB, f usage.FailedRequest, now time.Time) (*requestDiagnosis, error) {
	d := &requestDiagnosis{FailedRequest: f, doc: diagnose.Docs()[f.Code], key: &diagnosis{}}
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

// RequestView shows a failed request.
var RequestView = slices.Concat(
	output.Map(
		failedView.Pick(
			"request_id",
			"at",
			"status",
			"code",
			"reason",
			"window",
			"limit",
			"resets_at",
			"partial",
			"plan",
			"method",
			"route",
			"duration_ms",
		),
		failedOf,
	),
	output.View[*requestDiagnosis]{{Name: "tenant", Value: func(d *requestDiagnosis) any { return d.key.Tenant.Name }}},
	output.Map(failedView.Pick("key_id", "server_id", "suppressed"), failedOf),
	requestNow,
)

func failedOf(d *requestDiagnosis) usage.FailedRequest { return d.FailedRequest }

// requestNow is the present state, and what to do.
var requestNow = output.View[*requestDiagnosis]{
	{Name: "verdict_now", Value: func(d *requestDiagnosis) any { return d.key.verdict.Code }},
	{Name: "reason_now", Value: func(d *requestDiagnosis) any { return d.key.verdict.Reason }},
	{Name: "until_now", Value: func(d *requestDiagnosis) any { return d.key.verdict.Until }},
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
	s := screen{
		options: o,
		help:    help,
		verdict: "Request " + d.RequestID + strings.TrimPrefix(explanation, "The request"),
		facts:   d.facts(),
	}
	return s.print()
}

func (d *requestDiagnosis) facts() []fact {
	request := d.Method + " " + d.Route
	if d.Route == "" {
		request = d.Method + ", of a path that matches no route"
	}
	list := []fact{
		{"at", d.At},
		{"request", request},
		{"duration", string(output.Milliseconds(d.Took)) + " ms"},
		{"server", d.ServerID},
	}
	if d.KeyID != "" {
		list = append(
			list,
			fact{"tenant", d.key.Tenant.Name},
			fact{"key id", d.KeyID},
			fact{"plan then", d.Plan},
			fact{"verdict", d.key.verdict.Code},
		)
	}
	if d.Suppressed > 0 {
		list = append(
			list,
			fact{"more", fmt.Sprintf("%s of this key before it are not stored", output.Thousands(d.Suppressed))},
		)
	}
	return list
}

// text says what the response was and why, and what can be done.
func (d *requestDiagnosis) text() (explanation string, help []string) {
	explanation, help = diagnose.Explain(&d.FailedRequest, diagnose.LiftedAt(&d.FailedRequest, d.key.Bans)), d.help()
	if d.KeyID == "" {
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
	return explanation, append(help, "what else failed: petstorectl why "+d.key.Tenant.Name)
}

// help says what can be done about the request itself, independently of the key's present state.
func (d *requestDiagnosis) help() []string {
	switch help := helps[d.Reason]; {
	case d.Status == statusClientGone:
		return []string{"the client did not wait for the response: compare its timeout with the duration"}
	case help != "":
		return []string{help}
	case d.Code == "internal_error":
		return []string{"find the cause in the log of server " + d.ServerID + " by request_id=" + d.RequestID}
	case d.Window == string(limits.Key):
		return []string{"change the key's limit: petstorectl key edit " + d.KeyID + " --per-minute N"}
	case d.doc.Advice == "", d.isRefusal() && d.KeyID != "" && d.key.refused():
		// The key's present state says what to do.
		return nil
	}
	return []string{"for the customer: " + d.doc.Advice}
}

// isRefusal reports whether the key or its limits were the reason.
func (d *requestDiagnosis) isRefusal() bool {
	return d.Status == http.StatusUnauthorized || d.Status == http.StatusTooManyRequests
}

// statusClientGone is the status in the log and the metrics of a request whose client disconnected.
const statusClientGone = 499

// answer is the response to a failed request of a key with these bans.
func answer(f usage.FailedRequest, bans []keys.Ban) string {
	return diagnose.Answer(&f, diagnose.LiftedAt(&f, bans))
}

// identifyHelp is for requests whose key is not known.
const identifyHelp = "compare its last four characters: petstorectl key list --tenant TENANT"

// helps say what staff can do about a reason.
var helps = map[string]string{
	usage.OtherScheme:      "for the customer: send the header Authorization: Bearer <API key>",
	usage.SeveralHeaders:   "for the customer: send one; a proxy on the way may have added another",
	usage.Malformed:        identifyHelp,
	usage.OtherEnvironment: "for the customer: use a key of this deployment, or the base URL of the other one",
	usage.UnknownKey:       identifyHelp,
	usage.DatabaseDown:     "check the database and the servers: petstorectl doctor",
	usage.LimitsUndecided:  "check the servers and Redis: petstorectl doctor",
	usage.UsageUnrecorded:  "check the database: petstorectl doctor",
	usage.BodiesFull:       "for the customer: retry after the seconds in Retry-After, with fewer requests at a time",
	usage.TimedOut: "for the customer: send fewer requests at a time. If others are slow too: petstorectl " +
		"doctor",
}
