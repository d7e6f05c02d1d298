package account_test

import (
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/diagnose"
	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// TestFailedRequests: the tenant's own of a day, in pages, each explained by the text of why;
// another tenant's is as unknown as any.
func TestFailedRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	now := time.Now().UTC().Truncate(time.Microsecond)
	own, _ := s.key(t, keys.Request{})
	theirs, _ := s.key(t, keys.Request{Tenant: "zoo"})
	ids := map[int64]string{own.TenantID: own.ID, theirs.TenantID: theirs.ID}
	failed := func(id string, tenant int64, age time.Duration, n int64) usage.FailedRequest {
		return usage.FailedRequest{
			RequestID: id,
			TenantID:  tenant,
			KeyID:     ids[tenant],
			At:        now.Add(-age),
			Status:    404,
			Code:      "pet_not_found",
			Plan:      "pro",
			Method:    "GET",
			Route:     "/v1/pets/{petId}",
			ServerID:  "s1",
			Number:    n,
		}
	}
	over := failed("over/limit+1", 1, 6*time.Minute, 1)
	over.Status, over.Code, over.Window, over.Limit, over.Reset = 429, "rate_limit_exceeded", "minute", 300,
		now.Unix()-300
	all := []usage.FailedRequest{over, failed("theirs", 2, time.Minute, 2), failed("yesterday", 1, 25*time.Hour, 3)}
	for i := range 49 {
		all = append(all, failed(fmt.Sprint("early-", i), 1, time.Hour+time.Duration(i)*time.Second, int64(i+4)))
	}
	assert.NoError(t, s.api.FailedRequests.WriteFailed(t.Context(), all))
	late := failed("last", 1, 20*time.Hour, 99)
	assert.NoError(t, s.api.FailedRequests.WriteFailed(t.Context(), []usage.FailedRequest{late}))
	// The key's later minute has taken the place of the one that refused.
	bucket := usage.Bucket{TenantID: 1, KeyID: own.ID, Assignment: 1, Version: 1, Hour: (over.Reset - 60) / 3600 * 3600}
	count := usage.Count{
		Bucket:   bucket,
		Admitted: 500,
		Refused:  1,
		Minutes:  usage.Minutes{Minute: now.Unix() / 60, InMinute: 5},
	}
	assert.NoError(
		t,
		s.api.Usage.WriteUsage(t.Context(), usage.Batch{ServerID: "s1", Number: 1, Counts: []usage.Count{count}}),
	)
	cookie := s.signIn(t, "acme")
	first := text(t, s.do("GET", "/account/requests", nil, cookie))
	next := strings.Index(first, "/account/requests?after=")
	if strings.Count(first, "Why<span") != 50 || strings.Contains(first, "theirs") ||
		strings.Contains(first, "yesterday") ||
		next < 0 {
		t.Fatalf("%d, next %d\n%s", strings.Count(first, "Why<span"), next, first)
	}
	target, _, _ := strings.Cut(first[next:], `"`)
	second := text(t, s.do("GET", target, nil, cookie))
	assert.True(
		t,
		strings.Count(second, "Why<span") == 1 && strings.Contains(second, "id=last") &&
			!strings.Contains(second, "?after="),
		second,
	)
	detail := text(t, s.do("GET", "/account/requests/explained?id="+url.QueryEscape(over.RequestID), nil, cookie))
	for _, want := range []string{diagnose.Explain(&over, time.Time{}), "What used the limit", "On plan business",
		"1 request was refused in the last 30 days",
		"the minute's limit is 300. That minute's use is no longer kept."} {
		assert.True(
			t,
			strings.Contains(strings.NewReplacer("&#39;", "'", "&#34;", `"`).Replace(detail), want),
			"no",
			want,
			detail,
		)
	}
	unknown := text(t, s.do("GET", "/account/requests/explained?id=unknown", nil, cookie))
	for _, query := range []string{"/explained?id=theirs", "/explained?id=yesterday", "/explained", "/explained?id=" +
		strings.Repeat("x", 200), "?after=x", "?after=-1", "?after=99999999999999999999"} {
		r := s.do("GET", "/account/requests"+query, nil, cookie)
		assert.True(t, r.StatusCode == 404 && text(t, r) == unknown, query, r.StatusCode)
	}
}

// TestRequestsOfOneSecond: those that failed alike are one entry, in which each can be explained.
func TestRequestsOfOneSecond(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	k, _ := s.key(t, keys.Request{})
	second := time.Now().Add(-time.Minute).Truncate(time.Second)
	var all []usage.FailedRequest
	const code = "pet_not_found"
	for i, code := range []string{code, code, code, "route_not_found", code} {
		at := second.Add(time.Duration(i*300) * time.Millisecond)
		all = append(all, usage.FailedRequest{RequestID: fmt.Sprint("r", i), TenantID: k.TenantID, KeyID: k.ID, At: at,
			Status: 404, Code: code, Plan: "pro", Method: "GET", ServerID: "s1", Number: int64(i + 1)})
	}
	assert.NoError(t, s.api.FailedRequests.WriteFailed(t.Context(), all))
	page := text(t, s.do("GET", "/account/requests", nil, s.signIn(t, "acme")))
	assert.Equal(t, strings.Count(page, `<li class="card">`), 3, page)
	assert.Equal(t, strings.Count(page, "2 more in this second"), 1, page)
	for _, f := range all {
		assert.Equal(t, strings.Count(page, "explained?id="+f.RequestID), 1, f.RequestID, page)
	}
}

// TestFilterFailedRequests: the page filters as GET /v1/requests does, also the next pages. What is
// wrong is said in the words of the API, and stays.
func TestFilterFailedRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one, _ := s.key(t, keys.Request{})
	other, _ := s.key(t, keys.Request{})
	var all []usage.FailedRequest
	for i := range 120 {
		f := usage.FailedRequest{
			RequestID: fmt.Sprint(
				"r",
				i,
			),
			TenantID: 1,
			KeyID:    one.ID,
			At:       time.Now().Add(-time.Duration(i) * time.Minute),
			Status:   404,
			Code:     "pet_not_found",
			Plan:     "pro",
			Method:   "GET",
			ServerID: "s1",
			Number:   int64(i + 1),
		}
		if i%2 == 1 {
			f.KeyID, f.Status, f.Code = other.ID, 403, "insufficient_scope"
		}
		all = append(all, f)
	}
	assert.NoError(t, s.api.FailedRequests.WriteFailed(t.Context(), all))
	cookie := s.signIn(t, "acme")
	for _, query := range []string{"status=403", "code=insufficient_scope&status=&key=+", "key=" + other.ID,
		"status=403&code=insufficient_scope&key=" + other.ID} {
		page := text(t, s.do("GET", "/account/requests?"+query, nil, cookie))
		assert.True(
			t,
			strings.Count(page, "403 insufficient_scope") == 50 && !strings.Contains(page, "404 pet_not_found") &&
				strings.Contains(page, "Show all"),
			query,
			page,
		)
		_, next, _ := strings.Cut(page, `href="/account/requests?after=`)
		next, _, _ = strings.Cut(next, `"`)
		page = text(t, s.do("GET", "/account/requests?after="+html.UnescapeString(next), nil, cookie))
		assert.True(
			t,
			strings.Count(page, "403 insufficient_scope") == 10 && !strings.Contains(page, "404 pet_not_found"),
			next,
			page,
		)
	}
	page := text(t, s.do("GET", "/account/requests?status=404&code=insufficient_scope", nil, cookie))
	assert.True(t, strings.Contains(page, "No such request failed."), page)
	for query, want := range map[string]string{
		"status=200": "status must be a status from 400 to 599", "code=pet_not_fond": "did you mean pet_not_found?",
		"key=%3Cb%3E": "key must be the ID of a key",
	} {
		name, typed, _ := strings.Cut(query, "=")
		typed, _ = url.QueryUnescape(typed)
		r := s.do("GET", "/account/requests?"+query, nil, cookie)
		page := text(t, r)
		field := fmt.Sprintf(`name="%s"`, name)
		_, input, _ := strings.Cut(page, field)
		input, _, _ = strings.Cut(input, "</p>")
		assert.True(
			t,
			r.StatusCode == 400 && strings.Contains(page, want) &&
				strings.Contains(input, `value="`+html.EscapeString(typed)+`"`) &&
				!strings.Contains(page, "No such request"),
			query,
			page,
		)
	}
}
