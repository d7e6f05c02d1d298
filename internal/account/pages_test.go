package account_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/account"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// TestOverview: the windows, what comes, and bans with their reasons, of this tenant alone, also
// for a key that is banned. What people wrote is text.
func TestOverview(t *testing.T) {
	t.Parallel()
	limiter, now := limits.NewMemory(), time.Now()
	s := newSite(t, func(c *account.Config) { c.Limiter, c.Now = limiter, func() time.Time { return now } })
	for range 7 {
		limiter.Take(t.Context(), limits.Claim{TenantID: 1, Quota: plans.Quota{PerMinute: 300, PerDay: 10000}}, now)
	}
	k, key := s.key(t, keys.Request{Name: "import", Scope: keys.ScopeManage})
	theirs, _ := s.key(t, keys.Request{Tenant: "zoo", Name: "okapi"})
	for _, k := range []keys.Key{k, theirs} {
		_, err := s.staff.Bans.Place(
			t.Context(),
			by,
			tenancy.NewBan{KeyID: k.ID, Length: time.Hour, Reason: "<b>it floods</b>"},
			now,
		)
		assert.NoError(t, err)
	}
	_, err := s.staff.Timelines.Assign(
		t.Context(),
		by,
		pricing.NewAssignment{
			Tenant: "acme",
			Kind:   plans.Assigned,
			Plan:   plans.Business,
			From:   now.Add(24 * time.Hour),
		},
	)
	assert.NoError(t, err)
	page := text(
		t,
		s.do("GET", "/account", nil, cookieOf(t, s.do("POST", "/account/sign-in", url.Values{"key": {key}}, nil))),
	)
	for _, want := range []string{
		"<h1>acme</h1>", "Plan pro: 300 requests per minute and 10,000 per day.", "<strong>7</strong> of 300 used",
		"<strong>7</strong> of 10,000 used", "9,993 remain",
		"Key import is banned until", "&lt;b&gt;it floods&lt;/b&gt;", k.ID,
		"plan business, 1,000 requests per minute and 100,000 per day", "GET /v1/usage",
	} {
		assert.True(t, strings.Contains(page, want), "no", want, page)
	}
	assert.True(t, !strings.Contains(page, "okapi") && !strings.Contains(page, theirs.ID), "another tenant's key", page)
}

// TestWarnings: a window is amber from 80 % and red from 100 %, the day has its forecast, and keys
// that end within 30 days are named, the first one first.
func TestWarnings(t *testing.T) {
	t.Parallel()
	limiter := limits.NewMemory()
	now := time.Now().UTC().Truncate(24 * time.Hour).Add(12*time.Hour + 30*time.Minute)
	s := newSite(t, func(c *account.Config) { c.Limiter, c.Now = limiter, func() time.Time { return now } })
	cookie := s.signIn(t, "acme")
	k, _ := s.key(t, keys.Request{Name: "late", ExpiresAt: now.Add(30*24*time.Hour + time.Second)})
	soon, _ := s.key(t, keys.Request{Name: "soon", ExpiresAt: now.Add(29 * 24 * time.Hour)})
	sooner, _ := s.key(t, keys.Request{ExpiresAt: now.Add(2 * 24 * time.Hour)})
	take := func(n int) {
		for range n {
			quota := plans.Quota{PerMinute: 300, PerDay: 10000}
			limiter.Take(t.Context(), limits.Claim{TenantID: k.TenantID, Quota: quota}, now)
		}
	}
	take(239)
	page := text(t, s.do("GET", "/account", nil, cookie))
	first, second := strings.Index(page, sooner.ID), strings.Index(page, soon.ID)
	assert.True(t, 0 < first && first < second && !strings.Contains(page, k.ID), first, second, page)
	assert.True(t, !strings.Contains(page, `class="near"`) && !strings.Contains(page, "tag near"), page)
	assert.Contains(t, page, "At the present rate of 0 an hour the day’s requests last until it ends.")
	take(1)
	page = text(t, s.do("GET", "/account?refresh", nil, cookie))
	assert.True(t, strings.Count(page, `class="near"`) == 1 && strings.Contains(page, `near">80 %<`), page)
	take(60)
	page = text(t, s.do("GET", "/account?refresh", nil, cookie))
	assert.True(t, strings.Count(page, `class="full"`) == 1 && strings.Contains(page, `full">100 %<`), page)
	bucket := usage.Bucket{TenantID: k.TenantID, KeyID: k.ID, Assignment: 1, Version: 1, Hour: now.Unix() / 3600 * 3600}
	counts := []usage.Count{{Bucket: bucket, Admitted: 3000}}
	assert.NoError(t, s.api.Usage.WriteUsage(t.Context(), usage.Batch{ServerID: "s1", Number: 1, Counts: counts}))
	assert.Contains(t, text(t, s.do("GET", "/account", nil, cookie)), "At the present rate of 2,000 an hour nothing "+
		"remains from <time datetime=\""+now.Add(4*time.Hour+51*time.Minute).Format(time.RFC3339))
}

// slow never reads hours.
type slow struct{ usage.FailedReader }

func (slow) ReplayHours(ctx context.Context, _ int64, _ time.Time) ([]usage.Hour, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestLargerPlans: the overview has what larger plans would have refused of this tenant's requests,
// unless there is nothing to say or it takes long.
func TestLargerPlans(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	k, _ := s.key(t, keys.Request{})
	bucket := usage.Bucket{
		TenantID:   k.TenantID,
		KeyID:      k.ID,
		Assignment: 1,
		Version:    1,
		Hour:       time.Now().Unix() / 3600 * 3600,
	}
	// On business, the 59 minutes of an hour and the two at its ends have room for 61,000.
	assert.NoError(
		t,
		s.api.Usage.WriteUsage(
			t.Context(),
			usage.Batch{
				ServerID: "s1",
				Number:   1,
				Counts:   []usage.Count{{Bucket: bucket, Admitted: 60_618, Refused: 412}},
			},
		),
	)
	const want = "<li>On plan business at least 30 of your 412 refusals of the last 30 days would remain.</li>"
	page := text(t, s.do("GET", "/account", nil, s.signIn(t, "acme")))
	assert.True(t, strings.Contains(page, want) && strings.Count(page, "<li>On plan") == 1, page)
	for name, path := range map[string]string{"zoo": "/account", "acme": "/account?refresh"} {
		page := text(t, s.do("GET", path, nil, s.signIn(t, name)))
		assert.True(
			t,
			strings.Contains(page, "This minute") && !strings.Contains(page, "On a larger plan"),
			name,
			path,
			page,
		)
	}
	c := s.Handler.(*account.Account).Config
	c.Failed = slow{c.Failed}
	waits, err := account.New(c)
	assert.NoError(t, err)
	s.Handler = waits
	r := s.do("GET", "/account", nil, s.signIn(t, "acme"))
	page = text(t, r)
	assert.True(
		t,
		r.StatusCode == 200 && strings.Contains(page, "This minute") && !strings.Contains(page, "On a larger plan"),
		r.StatusCode,
		page,
	)
}

// TestSameLimits: with a boost of the day, no plan is recommended that does not raise the limit that
// refused, nor the tenant's own. What is in force is not called the plan's.
func TestSameLimits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	k, _ := s.key(t, keys.Request{})
	_, err := s.staff.Timelines.Assign(t.Context(), by, pricing.NewAssignment{
		Tenant: "acme", Kind: plans.Boost, Own: &plans.Quota{PerMinute: 1000, PerDay: 5000},
	})
	assert.NoError(t, err)
	hour := time.Now().Unix() / 3600 * 3600
	bucket := usage.Bucket{TenantID: k.TenantID, KeyID: k.ID, Assignment: 1, Version: 1, Hour: hour}
	assert.NoError(t, s.api.Usage.WriteUsage(t.Context(), usage.Batch{
		ServerID: "s1", Number: 1, Counts: []usage.Count{{Bucket: bucket, Admitted: 1001, Refused: 121}},
	}))
	f := usage.FailedRequest{RequestID: "r1", TenantID: k.TenantID, KeyID: k.ID, At: time.Now(), Status: 429,
		Code: "rate_limit_exceeded", Plan: "pro", Window: "minute", Limit: 1000, Reset: hour, Method: "GET",
		ServerID: "s1", Number: 1}
	assert.NoError(t, s.api.FailedRequests.WriteFailed(t.Context(), []usage.FailedRequest{f}))
	cookie := s.signIn(t, "acme")
	for _, path := range []string{"", "/requests/explained?id=r1"} {
		page := text(t, s.do("GET", "/account"+path, nil, cookie))
		assert.Contains(t, page, "<li>Plan business has the same limit per minute.</li>", path)
		assert.True(t, strings.Count(page, "<li>On plan")+strings.Count(page, "<li>Plan") == 1, path, page)
		if path == "" {
			assert.Contains(t, page, "Plan pro, boosted: 1,000 requests per minute and 5,000 per day.")
		}
	}
}

// TestMonths: any month up to now has a page, with links to those beside it.
func TestMonths(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *account.Config) {
		c.Now = func() time.Time { return time.Date(2028, 2, 29, 23, 59, 59, 0, time.UTC) }
	})
	cookie := s.signIn(t, "acme")
	for query, want := range map[string]string{
		"": "Usage in February 2028", "?month=2028-02": "Usage in February 2028",
		"?month=2027-12": "Usage in December 2027", "?month=": "Usage in February 2028",
	} {
		page := text(t, s.do("GET", "/account/usage"+query, nil, cookie))
		assert.True(
			t,
			strings.Contains(page, want) && strings.Contains(page, `role="img"`) && strings.Contains(page, "<desc") &&
				strings.Contains(page, "<table>"),
			query,
			page,
		)
		bars := strings.Count(page, `<rect class="admitted"`)
		assert.True(t, bars == 29 || bars == 31 && strings.Contains(page, "December"), query, bars, "bars")
	}
	for _, month := range []string{"2028-03", "2028-13", "x", "0001-01", "2028-2", "%3Cscript%3E", "9999-01"} {
		r := s.do("GET", "/account/usage?month="+month, nil, cookie)
		body := text(t, r)
		assert.True(
			t,
			r.StatusCode == 404 && strings.Contains(body, "No such month") && !strings.Contains(body, "<script>"),
			month,
			r.StatusCode,
		)
	}
	page := text(t, s.do("GET", "/account/usage?month=2028-01", nil, cookie))
	for _, month := range []string{"2027-12", "2028-02"} {
		assert.True(t, strings.Contains(page, fmt.Sprintf(`usage?month=%s"`, month)), "no link to", month)
	}
}

// TestMonthOfOverview: the third meter is of the month, with a mark at what is included, how much is
// above it, and what the month comes to. Without a limit it ends with what is used.
func TestMonthOfOverview(t *testing.T) {
	t.Parallel()
	limiter, now := limits.NewMemory(), usage.MonthStart(time.Now()).AddDate(0, 2, -10)
	s := newSite(t, func(c *account.Config) { c.Limiter, c.Now = limiter, func() time.Time { return now } })
	k, _ := s.key(t, keys.Request{})
	cookie := s.signIn(t, "acme")
	page := text(t, s.do("GET", "/account", nil, cookie))
	assert.True(t, !strings.Contains(page, "This month</h3>") && strings.Contains(page, "10,000 per day."), page)

	month := plans.Month{Kind: plans.SomeMonth, Included: 14_000,
		Overage: plans.Overage{Kind: plans.OverageShare, Value: 25}}
	agree := func(m plans.Month) {
		t.Helper()
		_, err := s.staff.Timelines.Assign(t.Context(), by, pricing.NewAssignment{Tenant: "acme",
			Kind: plans.Assigned, Plan: plans.Enterprise, Own: &plans.Quota{PerMinute: 300, PerDay: 1000, Month: m}})
		assert.NoError(t, err)
	}
	agree(month)
	limiter.SeedMonth(k.TenantID, limits.MonthAt(now), 15_050)
	hour := now.Add(-24*time.Hour).Unix() / 3600 * 3600
	bucket := usage.Bucket{TenantID: k.TenantID, KeyID: k.ID, Assignment: 3, Version: 1, Hour: hour}
	counts := []usage.Count{{Bucket: bucket, Admitted: 15_050}}
	assert.NoError(t, s.api.Usage.WriteUsage(t.Context(), usage.Batch{ServerID: "s1", Number: 1, Counts: counts}))
	page = text(t, s.do("GET", "/account", nil, cookie))
	end := usage.MonthStart(now).AddDate(0, 1, 0).Format("2 Jan 2006, 15:04:05 UTC")
	for _, want := range []string{
		"Plan enterprise: 300 requests per minute, 1,000 per day and 14,000 per month, with 3,500 more that are " +
			"billed apart.",
		"<h3>This month</h3>", "<strong>15,050</strong> of 17,500 used", `near">86 %<`,
		"2,450 remain.", end + "</time>.",
		`<rect class="mark" x="80"`, "14,000 that your plan includes. <strong>1,050</strong> are above it",
		"17,500 will have been admitted when the month ends, 3,500 of them above what is included: nothing remains " +
			"from",
	} {
		assert.True(t, strings.Contains(page, want), want)
	}

	month.Included, month.Overage = 20_000, plans.Overage{Kind: plans.OverageUnlimited}
	agree(month)
	page = text(t, s.do("GET", "/account", nil, cookie))
	for _, want := range []string{
		"20,000 per month, with any number more that are billed apart.",
		"<strong>15,050</strong> used, 20,000 included",
		`<rect class="used" width="75"`, `<rect class="mark" x="100"`, "There is no limit.",
	} {
		assert.True(t, strings.Contains(page, want), want)
	}
	month.Included = 7525
	agree(month)
	page = text(t, s.do("GET", "/account", nil, cookie))
	for _, want := range []string{
		`<rect class="used" width="100"`, `<rect class="mark" x="50"`, "<strong>7,525</strong> are above",
	} {
		assert.True(t, strings.Contains(page, want), want)
	}
}
