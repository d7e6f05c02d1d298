package account_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/account"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/people"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/test/assert"
)

// TestOverview: the windows, what comes, and bans with their reasons, of this tenant alone, also for a key that is banned. What people wrote is text.
func TestOverview(t *testing.T) {
	t.Parallel()
	limiter := limits.NewMemory()
	s := newSite(t, func(c *account.Config) { c.Limiter = limiter })
	now := time.Now()
	for range 7 {
		limiter.Take(t.Context(), limits.Claim{TenantID: 1, Quota: plans.Quota{PerMinute: 300, PerDay: 10000}}, now)
	}
	k, key := s.key(t, keys.Request{Name: "import", Scope: keys.ScopeManage})
	theirs, _ := s.key(t, keys.Request{Tenant: "zoo", Name: "okapi"})
	for _, k := range []keys.Key{k, theirs} {
		_, err := s.staff.Bans.Place(t.Context(), by, people.NewBan{KeyID: k.ID, Length: time.Hour, Reason: "<b>it floods</b>"}, now)
		assert.NoError(t, err)
	}
	_, err := s.staff.Timelines.Assign(t.Context(), by, pricing.NewAssignment{Tenant: "acme", Kind: plans.Assigned, Plan: plans.Business, From: now.Add(24 * time.Hour)})
	assert.NoError(t, err)
	page := text(t, s.do("GET", "/account", nil, cookieOf(t, s.do("POST", "/account/sign-in", url.Values{"key": {key}}, nil))))
	for _, want := range []string{
		"<h1>acme</h1>", "Plan pro: 300 requests per minute and 10,000 per day.", "<strong>7</strong> of 300 used", "<strong>7</strong> of 10,000 used", "9,993 remain",
		"Key import is banned until", "&lt;b&gt;it floods&lt;/b&gt;", k.ID, "plan business, 1,000 requests per minute and 100,000 per day", "GET /v1/usage",
	} {
		assert.True(t, strings.Contains(page, want), "no", want, page)
	}
	assert.True(t, !strings.Contains(page, "okapi") && !strings.Contains(page, theirs.ID), "another tenant's key", page)
}

// TestMonths: any month up to now has a page, with links to those beside it.
func TestMonths(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *account.Config) {
		c.Now = func() time.Time { return time.Date(2028, 2, 29, 23, 59, 59, 0, time.UTC) }
	})
	cookie := s.signIn(t, "acme")
	for query, want := range map[string]string{
		"": "Usage in February 2028", "?month=2028-02": "Usage in February 2028", "?month=2027-12": "Usage in December 2027", "?month=": "Usage in February 2028",
	} {
		page := text(t, s.do("GET", "/account/usage"+query, nil, cookie))
		assert.True(t, strings.Contains(page, want) && strings.Contains(page, `role="img"`) && strings.Contains(page, "<desc") && strings.Contains(page, "<table>"), query, page)
		bars := strings.Count(page, `<rect class="admitted"`)
		assert.True(t, bars == 29 || bars == 31 && strings.Contains(page, "December"), query, bars, "bars")
	}
	for _, month := range []string{"2028-03", "2028-13", "x", "0001-01", "2028-2", "%3Cscript%3E", "9999-01"} {
		r := s.do("GET", "/account/usage?month="+month, nil, cookie)
		body := text(t, r)
		assert.True(t, r.StatusCode == 404 && strings.Contains(body, "No such month") && !strings.Contains(body, "<script>"), month, r.StatusCode)
	}
	page := text(t, s.do("GET", "/account/usage?month=2028-01", nil, cookie))
	for _, month := range []string{"2027-12", "2028-02"} {
		assert.True(t, strings.Contains(page, fmt.Sprintf(`usage?month=%s"`, month)), "no link to", month)
	}
}
