package account_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"petstore.example/internal/account"
	"petstore.example/internal/keys"
	"petstore.example/internal/mail"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/webhooks"
)

// hooks are two endpoints, one of which was told of something.
type hooks struct{ webhooks.Customers }

func (hooks) List(_ context.Context, by webhooks.Requester) ([]webhooks.Endpoint, error) {
	if by.TenantID != 1 || by.Digest == ([32]byte{}) {
		return nil, nil
	}
	return []webhooks.Endpoint{
		{ID: 4, URL: "https://a.example/", Events: []string{"*"}, Status: webhooks.Pending, CreatedAt: time.Now()},
		{ID: 3, URL: "https://b.example/", Events: []string{"key.banned"}, Description: "<i>pager</i>",
			Status: webhooks.Disabled, DisabledReason: "gone", CreatedAt: time.Now()},
		{ID: 2, URL: "https://c.example/", Events: []string{"*"}, Status: webhooks.Enabled,
			FailingSince: time.Now().Add(-25 * time.Hour), CreatedAt: time.Now()},
		{ID: 1, URL: "https://d.example/", Events: []string{"*"}, Status: webhooks.Enabled,
			FailingSince: time.Now().Add(-time.Hour), CreatedAt: time.Now()},
	}, nil
}

func (hooks) Deliveries(
	_ context.Context, _ webhooks.Requester, id, _ int64, _ int,
) ([]webhooks.SentDelivery, error) {
	if id != 3 {
		return nil, nil
	}
	return []webhooks.SentDelivery{
		{
			ID:        9,
			EventID:   uuid.New(),
			Type:      "key.banned",
			Status:    "failed",
			CreatedAt: time.Now(),
			Attempts: []webhooks.Attempt{
				{
					At:     time.Now(),
					Took:   87 * time.Millisecond,
					Status: 410,
					Answer: []byte("<script>alert(1)</script>\xff"),
				},
				{At: time.Now(), Took: 10 * time.Second, Said: "no answer within 10 seconds"},
			},
		},
	}, nil
}

// told is the mailbox of a sign-in.
type told struct {
	account.Addresses

	of keys.Digest
}

func (o *told) Mailbox(_ context.Context, session keys.Digest, _ int) (m mail.Mailbox, _ error) {
	if session == o.of {
		m.Address, m.State = "ops@acme.example", "confirmed"
		m.Mails = []mail.Told{{Event: uuid.New(), Type: "plan.changed", At: time.Now(), Status: "sent"}}
	}
	return m, nil
}

// TestWebhooks: endpoints with what was told to them. What a stranger's server answered is text.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	mailbox := &told{}
	s := newSite(t, func(c *account.Config) { c.Webhooks, c.Addresses = hooks{}, mailbox })
	cookie := s.signIn(t, "acme")
	mailbox.of = keys.DigestOf(cookie.Value)
	r := s.do("GET", "/account/webhooks", nil, cookie)
	page := text(t, r)
	assert.Equal(t, r.StatusCode, http.StatusOK)
	for _, want := range []string{
		"https://a.example/", "all but those of animals and orders", "It has answered no <code>ping</code>",
		"&lt;i&gt;pager&lt;/i&gt;", "It has answered with 410.", "Its events are kept", ">failed<", "2 attempts",
		"410 after 87 ms",
		"&lt;script&gt;alert(1)&lt;/script&gt;\ufffd", "no answer within 10 seconds after 10000 ms",
		"goes to <code>ops@acme.example</code>", "to <code>ops@acme.example</code>: sent",
	} {
		assert.True(t, strings.Contains(page, want), want, page)
	}
	assert.Equal(t, strings.Count(page, "No attempt has succeeded since"), 2, page)
	page = text(t, s.do("GET", "/account", nil, cookie))
	assert.True(
		t,
		strings.Contains(page, "Webhook &lt;i&gt;pager&lt;/i&gt; is disabled</h2>\n<p>It has answered with 410.") &&
			strings.Contains(page, "Webhook 2 fails</h2>\n<p>No attempt has succeeded since") &&
			strings.Count(page, "Webhook that fails") == 2,
		page,
	)
	page = text(t, s.do("GET", "/account/webhooks", nil, s.signIn(t, "zoo")))
	assert.True(t, strings.Contains(page, "You have no webhook.") && !strings.Contains(page, "a.example") &&
		!strings.Contains(page, "Mail<"), page)
}

// hooked is a site that has webhooks.
func hooked(t *testing.T, change ...func(*account.Config)) *site {
	t.Helper()
	return newSite(t, append(change, func(c *account.Config) {
		sealer, err := webhooks.NewSealer(webhooks.NewKey())
		assert.NoError(t, err)
		c.Sealer, c.Rules = sealer, webhooks.NewRules([]uint16{443}, nil)
	})...)
}

var hookSecret = regexp.MustCompile(`>(whsec_[0-9A-Za-z+/]{43}=)<`)

// post sends a form of the page of webhooks; pairs are its values.
func (s *site) post(path string, cookie *http.Cookie, pairs ...string) *http.Response {
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return s.do("POST", "/account/webhooks"+path, form, cookie)
}

// once is the token of the form for a new webhook.
func (s *site) once(t *testing.T, cookie *http.Cookie) string {
	t.Helper()
	found := onceIn.FindStringSubmatch(text(t, s.do("GET", "/account/webhooks", nil, cookie)))
	if found == nil {
		t.Fatal("no form")
	}
	return found[1]
}

// shown returns the secret on a page.
func shown(t *testing.T, r *http.Response) string {
	t.Helper()
	page := html.UnescapeString(text(t, r))
	found := hookSecret.FindStringSubmatch(page)
	if r.StatusCode != 200 || found == nil {
		t.Fatalf("no secret: %d\n%s", r.StatusCode, page)
	}
	return found[1]
}

// hooksOf are acme's endpoints, the newest first.
func (s *site) hooksOf(t *testing.T, cookie *http.Cookie) []webhooks.Endpoint {
	t.Helper()
	list, err := s.api.Endpoints.List(t.Context(), webhooks.Requester{TenantID: 1, Digest: keys.DigestOf(cookie.Value)})
	assert.NoError(t, err)
	return list
}

// addHook adds a webhook by the page's form, and returns its ID.
func (s *site) addHook(t *testing.T, cookie *http.Cookie) string {
	t.Helper()
	shown(t, s.post("", cookie, "once", s.once(t, cookie), "url", "https://a.example/", "events", "*"))
	return fmt.Sprint(s.hooksOf(t, cookie)[0].ID)
}

// TestAddWebhook: the form adds the webhook that was described, whose secret is shown once. What is
// wrong is named, and what was typed stays.
func TestAddWebhook(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	cookie := s.signIn(t, "acme")
	once := s.once(t, cookie)
	for want, pairs := range map[string][]string{
		"The URL does not begin with https://.":         {"url", "http://a.example", "events", "*"},
		"The URL has an address that is not public.":    {"url", "https://10.0.0.1/", "events", "*"},
		"Events: name at least one type":                {"url", "https://a.example"},
		"Events: there is no type of event &#34;x&#34;": {"url", "https://a.example", "events", "x"},
		"Description: 1 to 100 characters": {"url", "https://a.example", "events", "key.banned",
			"description", strings.Repeat("ö", 101)},
	} {
		r := s.post("", cookie, append(pairs, "once", once)...)
		page := text(t, r)
		assert.True(
			t,
			r.StatusCode == 400 && strings.Contains(page, want) && strings.Contains(page, pairs[1]),
			want,
			page,
		)
	}
	assert.Equal(t, s.post("", cookie, "url", "https://a.example", "events", "*").StatusCode, 400, "another site's")
	form := []string{"once", once, "url", " https://A.example/x", "description", "<i>pager</i>",
		"events", "key.banned", "events", "pet.created"}
	secret := shown(t, s.post("", cookie, form...))
	e := s.hooksOf(t, cookie)[0]
	assert.Equal(t, e.URL+e.Description+strings.Join(e.Events, ","),
		"https://a.example/x<i>pager</i>key.banned,pet.created")
	page := text(t, s.post("", cookie, form...))
	assert.True(
		t,
		strings.Contains(page, "added the webhook "+fmt.Sprint(e.ID)) && !strings.Contains(page, secret),
		page,
	)
	page = text(t, s.do("GET", "/account/webhooks", nil, cookie))
	assert.True(t, strings.Contains(page, "&lt;i&gt;pager&lt;/i&gt;") && !strings.Contains(page, secret), page)
	for range webhooks.MaxEndpoints - 1 {
		s.addHook(t, cookie)
	}
	assert.True(
		t,
		!strings.Contains(text(t, s.do("GET", "/account/webhooks", nil, cookie)), "Add the webhook"),
		"a sixth",
	)
	r := s.post("", cookie, "once", strings.Repeat("x", 43), "url", "https://a.example/", "events", "*")
	assert.True(t, r.StatusCode == 409 && strings.Contains(text(t, r), "5 webhooks already"), r.StatusCode)
}

// TestChangeWebhook: the forms of a webhook change it, test it, and send again.
func TestChangeWebhook(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	cookie := s.signIn(t, "acme")
	id := s.addHook(t, cookie)
	moved := func(r *http.Response, to string) string {
		t.Helper()
		at := r.Header.Get("Location")
		assert.True(
			t,
			r.StatusCode == 303 && strings.HasPrefix(at, "/account/webhooks"+to),
			r.StatusCode,
			at,
			text(t, r),
		)
		return at
	}
	refused := func(r *http.Response, status int, want string) {
		t.Helper()
		page := text(t, r)
		assert.True(t, r.StatusCode == status && strings.Contains(page, want), r.StatusCode, want, page)
	}
	form := []string{"id", id, "version", "1", "url", "https://b.example/", "events", "key.issued"}
	moved(s.post("/edit", cookie, form...), "#webhook-"+id)
	e := s.hooksOf(t, cookie)[0]
	assert.Equal(t, fmt.Sprint(e.URL, e.Events, e.Version), "https://b.example/[key.issued] 2")
	refused(s.post("/edit", cookie, append(form, "description", "typed")...), 400, "changed after you opened")
	refused(s.post("/edit", cookie, "id", id, "version", "2", "url", "x", "events", "*"), 400, "The URL is not a URL")

	sent := moved(s.post("/test", cookie, "id", id), "#sent-")
	_, delivery, _ := strings.Cut(sent, "#sent-")
	page := text(t, s.do("GET", "/account/webhooks", nil, cookie))
	assert.True(t, strings.Contains(page, `id="sent-`+delivery+`"`) && strings.Contains(page, "Load this page again") &&
		strings.Contains(page, "to Webhook "+id+": waiting"), page)
	moved(s.post("/retry", cookie, "id", id, "delivery", delivery), "#sent-"+delivery)
	refused(s.post("/retry", cookie, "id", id, "delivery", "999"), 404, "no such delivery")

	s.key(t, keys.Request{})
	refused(s.post("/replay", cookie, "id", id, "since", "yesterday"), 400, "Replay: a time is written")
	refused(s.post("/replay", cookie, "id", id, "events", "x"), 400, "Replay: there is no type")
	year := fmt.Sprint(time.Now().UTC().Year())
	moved(s.post("/replay", cookie, "id", id, "until", year+"-01-01T00:00"), "?queued=0#webhook-"+id)
	moved(
		s.post(
			"/replay",
			cookie,
			"id",
			id,
			"since",
			year+"-01-01T00:00",
			"events",
			"key.issued",
			"events",
			"key.banned",
		),
		"?queued=1#webhook-"+id,
	)
	moved(s.post("/replay", cookie, "id", id), "?queued=0#webhook-"+id)
	page = text(t, s.do("GET", "/account/webhooks?queued=1", nil, cookie))
	assert.True(
		t,
		strings.Contains(page, "1 event is queued") && strings.Contains(page, "<code>key.issued</code>"),
		page,
	)

	first := shown(t, s.post("/rotate", cookie, "id", id, "grace", "24"))
	assert.True(t, first != shown(t, s.post("/rotate", cookie, "id", id, "grace", "0")), "the same secret")
	assert.Equal(t, s.post("/rotate", cookie, "id", id, "grace", "169").StatusCode, 400, "a grace period")

	moved(s.post("/edit", cookie, "id", id, "enabled", "no"), "#webhook-"+id)
	assert.Equal(t, s.hooksOf(t, cookie)[0].DisabledReason, "customer")
	for _, path := range []string{"/test", "/replay"} {
		refused(s.post(path, cookie, "id", id), 409, "is disabled: enable it first")
	}
	moved(s.post("/edit", cookie, "id", id, "enabled", "yes"), "#webhook-"+id)
	assert.Equal(t, s.hooksOf(t, cookie)[0].Status, webhooks.Pending)

	zoo := s.signIn(t, "zoo")
	for _, path := range []string{"/edit", "/test", "/retry", "/replay", "/rotate", "/remove"} {
		for _, of := range []string{id, "0", "", "x", strings.Repeat("9", 30)} {
			refused(s.post(path, zoo, "id", of, "grace", "1", "delivery", delivery), 404, "There is no such webhook")
		}
	}
	assert.Equal(t, len(s.hooksOf(t, cookie)), 1, "webhooks")
	moved(s.post("/remove", cookie, "id", id), "")
	assert.Equal(t, len(s.hooksOf(t, cookie)), 0, "webhooks")
}

// TestManyWebhookChanges: changes of webhooks count with those of keys, refused ones do not.
func TestManyWebhookChanges(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Minute)
	s := hooked(t, func(c *account.Config) { c.Now = func() time.Time { return now } })
	cookie := s.signIn(t, "acme")
	id := s.addHook(t, cookie)
	for range 20 {
		assert.Equal(t, s.post("/test", cookie, "id", id).StatusCode, 303)
		assert.Equal(t, s.post("/test", cookie, "id", "0").StatusCode, 404)
	}
	r := s.post("/test", cookie, "id", id)
	assert.True(t, r.StatusCode == 429 && r.Header.Get("Retry-After") == "3600" &&
		strings.Contains(text(t, r), "20 pings within an hour"), r.StatusCode)
	for range 39 {
		assert.Equal(t, s.post("/rotate", cookie, "id", id, "grace", "1").StatusCode, 200)
	}
	r = s.post("/rotate", cookie, "id", id, "grace", "1")
	assert.True(t, r.StatusCode == 429 && r.Header.Get("Retry-After") == "60" &&
		strings.Contains(text(t, r), "changed 60 times in this minute"), r.StatusCode)
}

// TestWebhooksOff: without a key for secrets there is no form that makes one.
func TestWebhooksOff(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *account.Config) { c.Rules = webhooks.NewRules([]uint16{443}, nil) })
	cookie := s.signIn(t, "acme")
	page := text(t, s.do("GET", "/account/webhooks", nil, cookie))
	assert.True(t, !strings.Contains(page, "Add the webhook") && strings.Contains(page, "are not set up"), page)
	for path, form := range map[string][]string{
		"":        {"once", strings.Repeat("x", 43), "url", "https://a.example/", "events", "*"},
		"/rotate": {"id", "1", "grace", "1"},
	} {
		assert.Equal(t, s.post(path, cookie, form...).StatusCode, 503, path)
	}
}
