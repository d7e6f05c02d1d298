package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/diagnose"
	"petstore.example/internal/limits"
	"petstore.example/internal/usage"
)

// The responses of GET /v1/requests and GET /v1/requests/{requestId}.
type (
	failedRequest struct {
		ID     string    `json:"id"`
		Time   time.Time `json:"time"`
		Method string    `json:"method"`
		// Route is nil if the path matched none.
		Route      *string `json:"route"`
		Status     int     `json:"status"`
		Code       string  `json:"code"`
		DurationMs float64 `json:"durationMs"`
		KeyID      string  `json:"keyId"`
	}
	failedDetail struct {
		failedRequest
		Explanation string `json:"explanation"`
		// Window is nil if no window refused the request. PassesAt is nil if waiting does not help.
		// Refusals is nil if the window is not one of the plan's.
		Window   *usage.RefusingWindow `json:"window"`
		PassesAt *time.Time            `json:"passesAt"`
		Refusals *refusals             `json:"refusals"`
	}
	refusals struct {
		Days    int          `json:"days"`
		Refused int64        `json:"refused"`
		Plans   []largerPlan `json:"plans"`
	}
	largerPlan struct {
		Name          string `json:"name"`
		RemainAtLeast int64  `json:"remainAtLeast"`
	}
)

// listRequests is GET /v1/requests, beta. It counts in no window.
func listRequests(a *api, x *exchange) error {
	if err := a.gate.TakeFreeRead(&x.asked, &x.Outcome); err != nil {
		return err
	}
	page, q, err := x.parseRequestsQuery()
	if err != nil {
		return err
	}
	found, more, err := a.Failed.ListFailed(x.Request.Context(), x.Caller.Tenant.ID, page)
	if err != nil {
		return err
	}
	list, next := make([]failedRequest, len(found)), ""
	for i := range found {
		list[i] = failedRequestOf(&found[i])
	}
	if more {
		next = httpfield.FormatCursor(found[len(found)-1].Cursor())
	}
	p, err := newListPage(&q, a.requestsURL, list, next)
	if err != nil {
		return err
	}
	x.writePage(p, x.pageForm(p))
	return nil
}

// getRequest is GET /v1/requests/{requestId}, beta. It counts in no window.
func getRequest(a *api, x *exchange) error {
	if err := a.gate.TakeFreeRead(&x.asked, &x.Outcome); err != nil {
		return err
	}
	// An ID may contain a slash. A percent-encoded slash does not separate segments.
	path := cmp.Or(x.Request.URL.RawPath, x.Request.URL.EscapedPath())
	id, err := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:])
	if err != nil || !isRequestID(id) {
		return problem.RequestNotFound.Err()
	}
	d, err := a.Failed.GetFailed(
		x.Request.Context(),
		x.Caller.Tenant.ID,
		id,
		x.asked.Now.Add(-usage.FailedFor),
		x.asked.Now,
	)
	if err != nil {
		return err
	}
	explanation := strings.TrimSpace(
		diagnose.Explain(&d.FailedRequest, d.LiftedAt) + " " + diagnose.HourOfUse(d.RefusedBy),
	)
	detail := failedDetail{failedRequestOf(&d.FailedRequest), explanation, d.RefusedBy, x.passesAt(&d), nil}
	if diagnose.IsShared(&d.FailedRequest) {
		var same string
		if detail.Refusals, same, err = a.refusalsUnderLargerPlans(x, &d); err != nil {
			return err
		}
		detail.Explanation += same
	}
	return x.writeItem(&detail)
}

func failedRequestOf(f *usage.FailedRequest) failedRequest {
	r := failedRequest{
		ID:         f.RequestID,
		Time:       f.At,
		Method:     f.Method,
		Status:     f.Status,
		Code:       f.Code,
		DurationMs: float64(f.Took.Microseconds()) / 1000,
		KeyID:      f.KeyID,
	}
	if f.Route != "" {
		r.Route = &f.Route
	}
	return r
}

// passesAt returns when, as far as is known, the limits would admit a request that a limit or a ban
// refused. It is the latest of these ends: of the ban or window that refused the request, of the
// window that had refused the key before the ban, of a ban in force, and of a window that is used
// up. It may be past. For any other request passesAt returns nil.
func (x *exchange) passesAt(d *usage.FailedDetail) *time.Time {
	if d.Status != http.StatusTooManyRequests {
		return nil
	}
	at := time.Unix(d.Reset, 0)
	if !d.LiftedAt.IsZero() {
		at = d.LiftedAt
	}
	at = slices.MaxFunc(
		[]time.Time{at, d.FullUntil, d.BannedUntil.Add(time.Second - 1).Truncate(time.Second)},
		time.Time.Compare,
	)
	windows, count := x.Decision.Windows()
	for _, w := range windows[:count] {
		if reset := time.Unix(
			w.Reset,
			0,
		); w.Remaining == 0 && reset.After(at) &&
			(w.Name != limits.Key || d.KeyID == x.Caller.KeyID) {
			at = reset
		}
	}
	at = at.UTC()
	return &at
}

// refusalsUnderLargerPlans returns how many of the tenant's requests were refused in the hours of
// d. For each plan on sale that raises the limit that refused this request, it returns how many
// would at least still be refused. same names the larger plans that do not raise the limit.
func (a *api) refusalsUnderLargerPlans(x *exchange, d *usage.FailedDetail) (_ *refusals, same string, err error) {
	sold, err := a.readPlans(x.Request.Context())
	if err != nil {
		return nil, "", err
	}
	refused, larger := diagnose.LargerPlans(d.Hours, x.Caller.Tenant, sold, limits.WindowName(d.Window))
	r := &refusals{Days: usage.ReplayDays, Refused: refused, Plans: []largerPlan{}}
	for _, p := range larger {
		if p.Helps {
			r.Plans = append(r.Plans, largerPlan{p.Name, p.Remain})
		}
	}
	return r, diagnose.SameLimits(larger), nil
}

// anInstant describes since and until. A + in a query is a space.
const anInstant = "a time such as 2026-11-20T09:21:48Z, with + written as %2B"

// requestParams are the query parameters of GET /v1/requests.
var requestParams = []string{"limit", "cursor", "since", "until", "key", "status", "code"}

// parseRequestsQuery reads the query of GET /v1/requests. The error names all invalid parameters.
func (x *exchange) parseRequestsQuery() (p usage.FailedPage, q listQuery, err error) {
	values, err := url.ParseQuery(x.Request.URL.RawQuery)
	if err != nil {
		return p, q, problem.InvalidParameter.WithMessage(malformedQuery)
	}
	var bad problems
	x.checkUnknown(&bad, requestParams)
	return readRequestsQuery(values, x.asked.Now, bad)
}

// readRequestsQuery returns what the known parameters select. If some are wrong, it returns an
// error that names the problems in bad, followed by their mistakes.
func readRequestsQuery(values url.Values, now time.Time, bad problems) (p usage.FailedPage, q listQuery, err error) {
	p = usage.FailedPage{Since: now.Add(-usage.FailedFor), Until: now.Add(time.Hour), Limit: defaultLimit}
	repeated := url.Values{}
	// read reads a parameter that may be given once. It keeps the value for links, unless links
	// write the parameter themselves.
	read := func(name, want string, parse func(s string) bool) parameter {
		v := lastOf(values[name])
		if bad.given(name, v) && !parse(v.value) {
			bad.add(name + " must be " + want)
		}
		if v.times > 0 && name != "limit" && name != "status" {
			repeated.Set(name, v.value)
		}
		return v
	}
	read("since", anInstant, narrows(&p.Since, time.Time.After))
	read("until", anInstant, narrows(&p.Until, time.Time.Before))
	read("key", "the ID of a key, which begins with key_", func(s string) bool {
		p.KeyID = s
		return strings.HasPrefix(s, "key_") && isRequestID(s)
	})
	status, code := 0, ""
	q.statusParam = read("status", "a status from 400 to 599", func(s string) (ok bool) {
		status, ok = parseNumber(s, 400, 599)
		return ok
	})
	read("code", "a code of an error"+suggestion(values.Get("code"), codeNames()), func(s string) bool {
		code = s
		return slices.Contains(codeNames(), s)
	})
	if status != 0 || code != "" {
		p.Kinds = kindsOf(status, code)
	}
	q.limitParam = read("limit", "an integer from 1 to "+strconv.Itoa(maxLimit), func(s string) (ok bool) {
		p.Limit, ok = parseNumber(s, 1, maxLimit)
		return ok
	})
	q.filterText = repeated.Encode()
	if c := lastOf(values["cursor"]); bad.given("cursor", c) {
		if after, ok := httpfield.ParseCursor(c.value); ok {
			p.After = after
		} else if len(bad) == 0 {
			return p, q, problem.InvalidCursor.Err()
		} else {
			bad.add(strings.TrimSuffix(problem.InvalidCursor.Message, "."))
		}
	}
	if len(bad) > 0 {
		return p, q, bad.err()
	}
	return p, q, nil
}

// narrows returns a parser of an instant. If the instant narrows the range, it becomes the bound.
func narrows(bound *time.Time, nearer func(at, than time.Time) bool) func(string) bool {
	return func(s string) bool {
		at, ok := parseInstant(s)
		if ok && nearer(at, *bound) {
			*bound = at.UTC() // Postgres accepts only offsets below 16 hours.
		}
		return ok
	}
}

// kindsOf returns the kinds of failed requests with that status and code; 0 and "" stand for any.
// Each code may also come with statusGone.
func kindsOf(status int, code string) []usage.FailedKind {
	found := []usage.FailedKind{}
	for _, c := range problem.Codes {
		for _, of := range []int{c.Status, statusGone} {
			if (status == 0 || status == of) && (code == "" || code == c.Name) {
				found = append(found, usage.FailedKind{Status: of, Code: c.Name})
			}
		}
	}
	return found
}

func codeNames() (names []string) {
	for _, c := range problem.Codes {
		names = append(names, c.Name)
	}
	return names
}
