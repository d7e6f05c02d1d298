package api

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/diagnose"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// refused is a request of acme's that its minute refused, n seconds before at.
func refused(n int) usage.FailedDetail {
	return usage.FailedDetail{FailedRequest: usage.FailedRequest{
		At:        at.Add(-time.Duration(n) * time.Second),
		Took:      183 * time.Microsecond,
		RequestID: fmt.Sprint("r-", n),
		TenantID:  1,
		KeyID:     "key_acme",
		Status:    429,
		Code:      "rate_limit_exceeded",
		Plan:      plans.Free,
		Window:    "minute",
		Limit:     60,
		Reset:     at.Unix() - 3,
		Method:    "GET",
		Route:     "/v1/pets",
		Number:    int64(100 - n),
	}}
}

func answerOf[T any](t *testing.T, rec *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(rec.Body.Bytes(), &v); err != nil || rec.Code != 200 {
		t.Fatalf("%d %s, %v", rec.Code, rec.Body, err)
	}
	return v
}

// TestRequestsInPages: the links lead through all pages and keep the filters; another tenant has
// none of them. Nothing is counted.
func TestRequestsInPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for n := range 5 {
		w.own.all = append(w.own.all, refused(n))
	}
	var got []string
	target := "/v1/requests?limit=2&since=2026-11-20T00:00:00Z&key=key_acme&status=429&code=rate_limit_exceeded"
	for target != "" {
		rec := w.do(w.request("GET", target, ""))
		for _, r := range answerOf[[]failedRequest](t, rec) {
			got = append(got, r.ID)
		}
		link, more, _ := strings.Cut(header(rec, "Link"), `>; rel="next"`)
		assert.Equal(t, more != "", header(rec, "X-Next-Cursor") != "", header(rec, "Link"))
		target = ""
		if more != "" {
			target = strings.TrimPrefix(link, "<https://api.example.com")
			asked, err := url.Parse(target)
			assert.NoError(t, err)
			assert.Equal(
				t,
				asked.Query().Get("since")+asked.Query().Get(
					"key",
				)+asked.Query().Get("status")+asked.Query().Get(
					"code",
				),
				"2026-11-20T00:00:00Zkey_acme429rate_limit_exceeded",
				target,
			)
		}
	}
	assert.DeepEqual(t, got, []string{"r-0", "r-1", "r-2", "r-3", "r-4"})
	assert.Equal(t, w.meter.admitted, 0, "counted")
	rec := w.do(w.request("GET", "/v1/requests", "", "Authorization", "Bearer "+w.other))
	assert.Equal(t, rec.Body.String(), "[]\n", "another tenant's")
	own := w.do(w.request("GET", "/v1/requests/r-9", ""))
	others := w.do(w.request("GET", "/v1/requests/r-1", "", "Authorization", "Bearer "+w.other))
	assert.Equal(t, others.Body.String(), own.Body.String(), "another tenant's and an unknown ID")
}

// TestRequestFilters: what a query asks the store for, and what is wrong with it.
func TestRequestFilters(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	day := usage.FailedPage{Since: at.Add(-24 * time.Hour), Until: at.Add(time.Hour), Limit: 20}
	with := func(change func(*usage.FailedPage)) usage.FailedPage {
		p := day
		change(&p)
		return p
	}
	for query, want := range map[string]usage.FailedPage{
		"": day, "since=2026-11-01T00:00:00Z&until=2027-01-01T00:00:00%2B01:00&nothing=1": day,
		"since=2026-11-20T09:00:00%2B01:00": with(func(p *usage.FailedPage) {
			p.Since = at.Truncate(time.Hour).Add(-time.Hour)
		}),
		"until=2026-11-20T09:00:00Z": with(func(p *usage.FailedPage) { p.Until = at.Truncate(time.Hour) }),
		"key=key_1&limit=7":          with(func(p *usage.FailedPage) { p.KeyID, p.Limit = "key_1", 7 }),
		"status=403": with(func(p *usage.FailedPage) {
			p.Kinds = []usage.FailedKind{{Status: 403, Code: "address_not_allowed"},
				{Status: 403, Code: "insufficient_scope"}}
		}),
		"status=418": with(func(p *usage.FailedPage) { p.Kinds = []usage.FailedKind{} }),
		"status=499": with(func(p *usage.FailedPage) { p.Kinds = kindsOf(499, "") }),
		"status=429&code=key_banned": with(func(p *usage.FailedPage) {
			p.Kinds = []usage.FailedKind{{Status: 429,
				Code: "key_banned"}}
		}),
		"code=key_banned": with(func(p *usage.FailedPage) {
			p.Kinds = []usage.FailedKind{{Status: 429, Code: "key_banned"}, {Status: 499, Code: "key_banned"}}
		}),
		"cursor=00000000000000ff": with(func(p *usage.FailedPage) { p.After = 255 }),
	} {
		rec := w.do(w.request("GET", "/v1/requests?"+query, ""))
		got := w.own.asked
		assert.Equal(t, rec.Code, 200, query, rec.Body)
		assert.DeepEqual(t, got, want, query)
	}
	for query, want := range map[string]string{
		"since=yesterday&until=2026-11-20": "since must be " + anInstant + "; until must be " + anInstant + ".",
		"key=x&key=y":                      "key must be given only once.",
		"key=x":                            "key must be the ID of a key, which begins with key_.",
		"key=key_%00":                      "key must be the ID of a key, which begins with key_.",
		"status=200":                       "status must be a status from 400 to 599.",
		"status=+429":                      "status must be a status from 400 to 599.",
		"code=rate_limit_exeeded":          "code must be a code of an error (did you mean rate_limit_exceeded?).",
		"limit=0&cursor=&code=x": "code must be a code of an error; " +
			"limit must be an integer from 1 to 100; " + problem.InvalidCursor.Message,
		"cursor=1":                  problem.InvalidCursor.Message,
		"cursor=1&cursor=2":         "cursor must be given only once.",
		"since=2026-11-20T09%zz":    malformedQuery,
		"until=2026-11-20T09:00:00": "until must be " + anInstant + ".",
	} {
		rec := w.do(w.request("GET", "/v1/requests?"+query, ""))
		if rec.Code != 400 || message(t, rec.Body.Bytes()) != want {
			t.Errorf("%s: %d %s, want %s", query, rec.Code, rec.Body, want)
		}
		w.setClock(w.clock().Add(time.Minute))
	}
}

// TestRequestExplained: the response is that of the document, with the text of petstorectl why.
func TestRequestExplained(t *testing.T) {
	t.Parallel()
	inJSON, err := yaml.YAMLToJSON(openAPIText)
	assert.NoError(t, err)
	var document struct {
		Components struct {
			Responses map[string]struct {
				Content map[string]struct{ Example json.RawMessage }
			}
		}
	}
	assert.NoError(t, json.Unmarshal(inJSON, &document))
	var want failedDetail
	assert.NoError(
		t,
		json.Unmarshal(document.Components.Responses["RequestFound"].Content["application/json"].Example, &want),
	)

	w := newFixture(t)
	d := refused(0)
	d.At, d.RequestID, d.KeyID, d.Reset = want.Time, want.ID, want.KeyID, want.PassesAt.Unix()
	d.RefusedBy = want.Window
	// On the first day, 30 more than pro admits.
	midnight := at.Truncate(24 * time.Hour)
	d.Hours = []usage.Hour{
		{At: midnight.AddDate(0, 0, -1), Requests: 10_030, Refused: 35},
		{At: midnight, Requests: 400, Refused: 377},
	}
	w.own.all = []usage.FailedDetail{d}
	rec := w.do(w.request("GET", "/v1/requests/"+want.ID, ""))
	var shown map[string]any
	assert.NoError(
		t,
		json.Unmarshal(document.Components.Responses["RequestFound"].Content["application/json"].Example, &shown),
	)
	assert.DeepEqual(t, answerOf[map[string]any](t, rec), shown, "-document +server")
	guide, err := os.ReadFile("../../docs/errors.md")
	assert.NoError(t, err)
	_, inGuide, _ := strings.Cut(string(guide), "## What happened to my request")
	_, inGuide, _ = strings.Cut(inGuide, "```json\n")
	inGuide, _, _ = strings.Cut(inGuide, "```")
	var documented map[string]any
	assert.NoError(t, json.Unmarshal([]byte(inGuide), &documented))
	assert.DeepEqual(t, documented, shown, "-document +guide")
	assert.Equal(t, want.Explanation, diagnose.Explain(&d.FailedRequest, time.Time{}))
	assert.Equal(t, w.do(w.request("GET", "/v1/requests/"+want.ID, "", "If-None-Match", header(rec, "ETag"))).Code, 304)
	w.setPlan(t, "custom", plans.Quota{PerMinute: 300, PerDay: 1000})
	same := answerOf[failedDetail](t, w.do(w.request("GET", "/v1/requests/"+want.ID, "")))
	assert.Equal(t, same.Explanation, want.Explanation+" Plan pro has the same limit per minute.")
	assert.DeepEqual(t, same.Refusals.Plans, []largerPlan{{Name: plans.Business}})
}

// TestRequestPasses: a request passes when what refused it is over, and neither a ban of its key
// nor a window of its tenant refuses it.
func TestRequestPasses(t *testing.T) {
	t.Parallel()
	over := at.Add(-3 * time.Second)
	for name, test := range map[string]struct {
		change func(*fixture, *usage.FailedDetail)
		want   time.Time
	}{
		"the minute is over": {func(*fixture, *usage.FailedDetail) {}, over},
		"banned now": {func(_ *fixture, d *usage.FailedDetail) { d.BannedUntil = at.Add(time.Minute + 1) },
			at.Add(time.Minute + time.Second)},
		"a ban that was lifted": {func(_ *fixture, d *usage.FailedDetail) {
			d.Code, d.Window, d.Reset, d.LiftedAt = diagnose.KeyBanned, "", at.Unix()+900, at.Add(-time.Minute)
		}, at.Add(-time.Minute)},
		"a ban that was lifted before the window was over": {func(_ *fixture, d *usage.FailedDetail) {
			d.Code, d.Window, d.Reset, d.LiftedAt, d.FullUntil = diagnose.KeyBanned, "", at.Unix()+900,
				at.Add(-time.Minute), at.Add(-7*time.Second)
		}, at.Add(-7 * time.Second)},
		"the day was used up at the end of the ban": {func(_ *fixture, d *usage.FailedDetail) {
			d.Code, d.Window, d.Reset, d.FullUntil = diagnose.KeyBanned, "", at.Unix()-900, at.Add(-time.Minute)
		}, at.Add(-time.Minute)},
		"the day is used up": {func(w *fixture,
			_ *usage.FailedDetail) {
			quota(plans.Quota{PerMinute: 9, PerDay: 2})(t, w, nil)
		}, at.Truncate(24*time.Hour).AddDate(0, 0, 1)},
		"another key's own limit": {func(w *fixture, d *usage.FailedDetail) {
			keyLimit(t, w, nil)
			d.KeyID = "key_other"
		}, over},
		"the key's own limit": {func(w *fixture, _ *usage.FailedDetail) { keyLimit(t, w, nil) },
			time.Unix(1795166557, 0)},
		"not refused": {func(_ *fixture, d *usage.FailedDetail) {
			d.Status, d.Code, d.Window = 404, "pet_not_found",
				""
		}, time.Time{}},
	} {
		w, d := newFixture(t), refused(1)
		test.change(w, &d)
		w.own.all = []usage.FailedDetail{d}
		got := answerOf[failedDetail](t, w.do(w.request("GET", "/v1/requests/r-1", ""))).PassesAt
		if got == nil {
			got = &time.Time{}
		}
		assert.True(t, got.Equal(test.want), name, got, "want", test.want)
	}
}

// TestRequestIDs: an ID that the client chose may have a slash, and one that no request has asks
// the store for nothing.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	d := refused(1)
	d.RequestID = "a/b:c+d@e=~"
	w.own.all = []usage.FailedDetail{d}
	assert.Equal(
		t,
		answerOf[failedDetail](t, w.do(w.request("GET", "/v1/requests/"+url.PathEscape(d.RequestID), ""))).ID,
		d.RequestID,
	)
	w.pets.err = fmt.Errorf("not to be asked")
	for _, id := range []string{"%00", "a%20b", strings.Repeat("x", 129), "pst_live_x", "%C3%A9"} {
		assert.Equal(t, w.do(w.request("GET", "/v1/requests/"+id, "")).Code, 404, id)
	}
}

// TestFreeRequestsAreUses: the last use of a key is also one that does not count.
func TestFreeRequestsAreUses(t *testing.T) {
	t.Parallel()
	w := manages(t)
	for i, path := range []string{"/v1/keys", "/v1/keys/self", "/v1/usage", "/v1/requests", "/v1/requests/x",
		"/v1/plans"} {
		w.do(w.request("GET", path, ""))
		assert.Equal(t, w.meter.used, i+1, path)
	}
	w.do(w.request("GET", "/v1/pets", ""))
	assert.Equal(t, fmt.Sprint(w.meter.used, w.meter.admitted), "6 1", "free and counted")
}

// TestFreeReads: a tenant may read so many failed requests a minute, which counts nowhere, is no
// strike, and is recorded with its reason.
func TestFreeReads(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for n := range 60 + 2 { // free's, and two more
		rec := w.do(w.request("GET", "/v1/requests", ""))
		assert.Equal(t, rec.Code == 429, n >= 60, n)
		if rec.Code == 429 {
			assert.Equal(t, header(rec, "Retry-After"), "12", "at 48 seconds")
		}
	}
	assert.Equal(
		t,
		w.do(w.request("GET", "/v1/requests", "", "Authorization", "Bearer "+w.other)).Code,
		200,
		"another tenant's",
	)
	assert.Equal(t, w.do(w.request("GET", "/v1/usage", "")).Code, 200, "another operation")
	assert.Equal(t, len(w.strikes.refused), 0, "strikes")
	assert.Equal(t, len(w.failed.all), 2, "failed")
	f := w.failed.all[0]
	assert.Equal(t, f.Window+f.Reason+fmt.Sprint(f.Limit, f.Reset-at.Unix()), usage.Uncounted+"0 12", "recorded")
	w.setPlan(t, plans.Enterprise, noLimit)
	for range gate.MaxFreeReads - 60 {
		assert.Equal(t, w.do(w.request("GET", "/v1/requests", "")).Code, 200, "on a larger plan")
	}
	assert.Equal(t, w.do(w.request("GET", "/v1/requests", "")).Code, 429, "on the largest plan")
	w.setClock(at.Add(12 * time.Second))
	assert.Equal(t, w.do(w.request("GET", "/v1/requests", "")).Code, 200, "in the next minute")
}

// TestInstants: those of RFC 3339 are read, and no others, as time.Parse would.
func TestInstants(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"2026-11-20T09:21:48Z": true, "2026-11-20t09:21:48.5z": true, "2026-11-20T09:21:48-00:00": true,
		"2026-11-20T09:21:48+14:00": true, "2024-02-29T00:00:00Z": true,
		"2026-11-20T09:21:48,5Z": false, "2026-11-20T9:21:48Z": false, "2026-11-20 09:21:48Z": false,
		"2026-11-20T09:21:48": false, "2026-11-20T09:21Z": false, "2026-11-20T09:21:48+24:00": false,
		"2026-11-20T09:21:48+0100": false, "2026-02-29T00:00:00Z": false, "2026-11-20T24:00:00Z": false,
		"2026-11-20T09:21:48.Z": false, "": false,
	} {
		_, ok := parseInstant(text)
		assert.Equal(t, ok, want, text)
	}
}
