package api

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/api/httpfield"
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
		// Window is nil if no window refused the request, PassesAt if waiting does not help, and
		// Refusals if the window is not the plan's.
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
	if err := a.takeFreeRead(x); err != nil {
		return err
	}
	page, q, err := x.parseRequestsQuery()
	if err != nil {
		return err
	}
	found, more, err := a.Failed.ListFailed(x.Request.Context(), x.caller.Tenant.ID, page)
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
	x.writePage(p, x.form(p))
	return nil
}

// getRequest is GET /v1/requests/{requestId}, beta. It counts in no window.
func getRequest(a *api, x *exchange) error {
	if err := a.takeFreeRead(x); err != nil {
		return err
	}
	// An ID may have a slash, which separates no segments if it is percent-encoded.
	path := cmp.Or(x.Request.URL.RawPath, x.Request.URL.EscapedPath())
	id, err := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:])
	if err != nil || !isRequestID(id) {
		return codeRequestNotFound.err()
	}
	d, err := a.Failed.GetFailed(x.Request.Context(), x.caller.Tenant.ID, id, x.now.Add(-usage.FailedFor), x.now)
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

// passesAt returns from when the limits would admit a request that one of them or a ban refused, as
// far as is known: the end of what refused it, of the window that had refused the key before the
// ban, of a ban that is in force, and of a window that is used up. It may be over. It is nil for
// any other request.
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
	windows, count := x.decision.Windows()
	for _, w := range windows[:count] {
		if reset := time.Unix(
			w.Reset,
			0,
		); w.Remaining == 0 && reset.After(at) &&
			(w.Name != limits.Key || d.KeyID == x.caller.KeyID) {
			at = reset
		}
	}
	at = at.UTC()
	return &at
}

// refusalsUnderLargerPlans returns how many of the tenant's requests were refused in the hours of a
// request's detail, and how many would be, at least, under each plan that is sold and raises the
// limit that refused that one. It says which larger plans do not.
func (a *api) refusalsUnderLargerPlans(x *exchange, d *usage.FailedDetail) (_ *refusals, same string, err error) {
	sold, err := a.readPlans(x.Request.Context())
	if err != nil {
		return nil, "", err
	}
	refused, larger := diagnose.LargerPlans(d.Hours, x.caller.Tenant, sold, limits.WindowName(d.Window))
	r := &refusals{Days: usage.ReplayDays, Refused: refused, Plans: []largerPlan{}}
	for _, p := range larger {
		if p.Helps {
			r.Plans = append(r.Plans, largerPlan{p.Name, p.Remain})
		}
	}
	return r, diagnose.SameLimits(larger), nil
}

// anInstant is what since and until are. A + in a query is a space.
const anInstant = "a time such as 2026-11-20T09:21:48Z, with + written as %2B"

// requestParams are the query parameters of GET /v1/requests.
var requestParams = []string{"limit", "cursor", "since", "until", "key", "status", "code"}

// parseRequestsQuery reads the query of GET /v1/requests. The error names all invalid parameters.
func (x *exchange) parseRequestsQuery() (p usage.FailedPage, q listQuery, err error) {
	values, err := url.ParseQuery(x.Request.URL.RawQuery)
	if err != nil {
		return p, q, codeInvalidParameter.withMessage(malformedQuery)
	}
	var bad problems
	x.checkUnknown(&bad, requestParams)
	return readRequestsQuery(values, x.now, bad)
}

// readRequestsQuery returns what the known parameters select, or an error that names what is wrong
// with them, after what is bad already.
func readRequestsQuery(values url.Values, now time.Time, bad problems) (p usage.FailedPage, q listQuery, err error) {
	p = usage.FailedPage{Since: now.Add(-usage.FailedFor), Until: now.Add(time.Hour), Limit: defaultLimit}
	repeated := url.Values{}
	// read reads a parameter that is given once; with it links have it, except for those that they
	// write themselves.
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
			return p, q, codeInvalidCursor.err()
		} else {
			bad.add(strings.TrimSuffix(codeInvalidCursor.message, "."))
		}
	}
	if len(bad) > 0 {
		return p, q, bad.err()
	}
	return p, q, nil
}

// narrows returns a parser of an instant, which becomes the bound if it is nearer.
func narrows(bound *time.Time, nearer func(at, than time.Time) bool) func(string) bool {
	return func(s string) bool {
		at, ok := parseInstant(s)
		if ok && nearer(at, *bound) {
			*bound = at.UTC() // Postgres knows no offset of 16 hours or more.
		}
		return ok
	}
}

var instantForm = regexp.MustCompile(`T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// parseInstant reads a date and time of RFC 3339, section 5.6, in which t and z may be small.
// time.Parse takes more: a comma before the fraction, an hour of one digit, an offset of 24 hours.
func parseInstant(s string) (at time.Time, ok bool) {
	s = strings.ToUpper(s)
	at, err := time.Parse(time.RFC3339, s)
	return at, err == nil && instantForm.MatchString(s)
}

// kindsOf returns the kinds of failed requests with that status and code, 0 and "" for any. With
// any code the client may have gone before.
func kindsOf(status int, code string) []usage.FailedKind {
	found := []usage.FailedKind{}
	for _, c := range codes {
		for _, of := range []int{c.status, statusGone} {
			if (status == 0 || status == of) && (code == "" || code == c.name) {
				found = append(found, usage.FailedKind{Status: of, Code: c.name})
			}
		}
	}
	return found
}

func codeNames() (names []string) {
	for _, c := range codes {
		names = append(names, c.name)
	}
	return names
}
