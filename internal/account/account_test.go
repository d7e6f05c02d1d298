package account_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"petstore.example/internal/account"
	"petstore.example/internal/api"
	"petstore.example/internal/audit"
	"petstore.example/internal/catalog"
	"petstore.example/internal/fairqueue"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/mail"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// The memory store of address buckets has a goroutine that ends when the garbage collector finds
// the store.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(
		storetest.Suite{M: m},
		goleak.IgnoreAnyFunction("github.com/ulule/limiter/v3/drivers/store/memory.(*cleaner).Run"),
	)
}

var by = audit.By{Actor: "test"}

// site is an Account with its customers acme and zoo.
type site struct {
	http.Handler
	staff, api *store.DB
	supportURL string
	mu         sync.Mutex
	// down is the error of all calls to the database.
	down error
	logs bytes.Buffer
}

func newSite(t *testing.T, change ...func(*account.Config)) *site {
	t.Helper()
	database := storetest.New(t)
	s := &site{staff: storetest.Open(t, database.SupportURL, store.Options{}), supportURL: database.SupportURL}
	db := storetest.Open(t, database.APIURL, store.Options{AsAPI: true})
	s.api = db
	for _, name := range []string{"acme", "zoo"} {
		_, err := s.staff.Tenants.Create(t.Context(), by, tenancy.NewTenant{Name: name, Plan: plans.Pro}, time.Time{})
		assert.NoError(t, err)
	}
	queue := fairqueue.New(
		fairqueue.Stores{
			Pets:     db.Pets,
			Orders:   db.Orders,
			Requests: db.Idempotency,
			Usage:    db.Usage,
			Keys:     db.CustomerKeys,
			Failed:   db.FailedRequests,
		},
		fairqueue.Options{Slots: 4, PerTenant: 4, Timeout: time.Minute, Places: 2},
	)
	c := account.Config{
		Stores: account.Stores{
			SignIns:    db.SignIns,
			Usage:      queue,
			Keys:       queue,
			Failed:     queue,
			Webhooks:   db.Endpoints,
			Addresses:  db.Mail,
			FailedPage: api.ReadFailedPage,
			Sold:       db.PriceList.Sold,
			Place:      queue.Place,
			Turn: func(ctx context.Context, tenant int64, call func(context.Context) error) error {
				s.mu.Lock()
				down := s.down
				s.mu.Unlock()
				if down != nil {
					return down
				}
				return queue.Run(ctx, tenant, call)
			},
		},
		Limits: account.Limits{
			Limiter:    limits.NewMemory(),
			KeyChanges: &limits.TenantMinute{},
		},
		Site: account.Site{
			BaseURL:     "https://api.example.com/v1",
			SupportURL:  "https://support.example.org",
			Environment: keys.Live,
		},
		Links: mail.NewLinks("https://api.example.com/v1", [][]byte{[]byte("key")}),
		Now:   time.Now,
		Log:   zerolog.New(&s.logs),
	}
	for _, f := range change {
		f(&c)
	}
	h, err := account.New(c)
	assert.NoError(t, err)
	s.Handler = h
	return s
}

// key issues a key.
func (s *site) key(t *testing.T, r keys.Request) (keys.Key, string) {
	t.Helper()
	if r.Tenant == "" {
		r.Tenant = "acme"
	}
	if r.Environment == "" {
		r.Environment = keys.Live
	}
	k, token, err := (&keys.Service{Store: s.staff.Keys}).Issue(t.Context(), by, r)
	assert.NoError(t, err)
	return k, token.Reveal()
}

// invite makes a link, and returns its token.
func (s *site) invite(t *testing.T, tenant string) string {
	t.Helper()
	secret, digest := keys.NewSecret()
	_, err := s.staff.SignIns.Invite(t.Context(), by, tenant, keys.Live, digest)
	assert.NoError(t, err)
	return secret
}

// do sends a form from a page of the site; headers come in pairs.
func (s *site) do(method, target string, form url.Values, cookie *http.Cookie, headers ...string) *http.Response {
	r := httptest.NewRequestWithContext(
		context.Background(),
		method,
		"https://api.example.com"+target,
		strings.NewReader(form.Encode()),
	)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if from := r.Header.Get("From"); from != "" {
		r.RemoteAddr = from + ":0"
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	if cookie != nil {
		r.AddCookie(cookie)
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, r)
	return rec.Result()
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	assert.NoError(t, err)
	return string(body)
}

// signIn signs in by a link and returns the cookie.
func (s *site) signIn(t *testing.T, tenant string) *http.Cookie {
	t.Helper()
	r := s.do("POST", "/account/invitation", url.Values{"token": {s.invite(t, tenant)}}, nil)
	return cookieOf(t, r)
}

func cookieOf(t *testing.T, r *http.Response) *http.Cookie {
	t.Helper()
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/account" || len(r.Cookies()) != 1 {
		t.Fatalf("not signed in: %d %v\n%s", r.StatusCode, r.Header, text(t, r))
	}
	return r.Cookies()[0]
}

// TestEveryPage: each has the headers that keep it from caches, frames and other sites, no inline
// style or script, and says to strangers nothing.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cookie := s.signIn(t, "acme")
	inline := regexp.MustCompile(`(?i)\sstyle=|<style|\son[a-z]+=|<script>|javascript:`)
	for _, route := range s.Handler.(*account.Account).Routes() {
		method, path, _ := strings.Cut(route, " ")
		for _, c := range []*http.Cookie{nil, {Name: cookie.Name, Value: "x"}, cookie} {
			r := s.do(method, path, nil, c)
			body := text(t, r)
			for name, want := range map[string]string{
				"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
				"Content-Type": "text/html; charset=utf-8",
				"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src " +
					"'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
				"Cross-Origin-Opener-Policy": "same-origin", "Access-Control-Allow-Origin": "",
			} {
				assert.Equal(t, r.Header.Get(name), want, route, name)
			}
			public := strings.HasSuffix(path, "/sign-in") || strings.HasSuffix(path, "/invitation") ||
				strings.HasPrefix(path, "/account/mail/")
			signIn := "/account/sign-in"
			if c != nil {
				signIn += "?ended=session"
			}
			if c != cookie && !public && (r.StatusCode != 303 || r.Header.Get("Location") != signIn || body != "") {
				t.Errorf("%s of a stranger: %d %s", route, r.StatusCode, body)
			}
			if r.StatusCode >= 500 || inline.MatchString(body) || len(body) > 60_000 {
				t.Errorf("%s: %d, %d bytes\n%s", route, r.StatusCode, len(body), body)
			}
		}
	}
	page := s.do("GET", "/account", nil, s.signIn(t, "acme"))
	assert.Equal(t, page.StatusCode, 200, "the overview")
	head := s.do("HEAD", "/account/sign-in", nil, nil)
	assert.True(t, head.ContentLength > 1000 && text(t, head) == "", "HEAD", head.ContentLength)
}

// TestFormsLoadedAgain: GET of an address to which a form was sent leads to the page of the form,
// or to the sign-in.
func TestFormsLoadedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cookie := s.signIn(t, "acme")
	for path, want := range map[string]string{
		"/account/keys/edit": "/account/keys", "/account/keys/rotate": "/account/keys",
		"/account/keys/revoke?x=y": "/account/keys", "/account/webhooks/test": "/account/webhooks",
		"/account/sign-ins/end": "/account/sign-ins", "/account/sign-out": "/account",
	} {
		for _, method := range []string{"GET", "HEAD"} {
			r := s.do(method, path, nil, cookie)
			assert.True(
				t,
				r.StatusCode == 303 && r.Header.Get("Location") == want,
				method,
				path,
				r.StatusCode,
				r.Header,
			)
		}
		assert.Equal(t, s.do("GET", path, nil, nil).Header.Get("Location"), "/account/sign-in", path, "of a stranger")
	}
	for _, page := range s.Handler.(*account.Account).Routes() {
		method, path, _ := strings.Cut(page, " ")
		r := s.do("GET", path, nil, cookie)
		assert.True(t, r.StatusCode != 405, method, path, r.StatusCode)
	}
	assert.Equal(t, s.do("GET", "/account", nil, cookie).StatusCode, 200, "still signed in")
}

// TestCookie: it is bound to the host and to pages of it, and is another one after each sign-in,
// whatever the browser had.
func TestCookie(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.signIn(t, "acme")
	if first.Name != "__Host-petstore" || !first.HttpOnly || !first.Secure ||
		first.SameSite != http.SameSiteStrictMode ||
		first.Path != "/" ||
		first.Domain != "" ||
		len(first.Value) != 43 {
		t.Errorf("%+v", first)
	}
	planted := &http.Cookie{Name: first.Name, Value: strings.Repeat("A", 43)}
	second := cookieOf(t, s.do("POST", "/account/invitation", url.Values{"token": {s.invite(t, "acme")}}, planted))
	whole := " https://api.example.com/account/invitation#" + s.invite(t, "acme") + "\n" // as it is pasted
	third := cookieOf(t, s.do("POST", "/account/invitation", url.Values{"token": {whole}}, second))
	assert.True(t, second.Value != planted.Value && third.Value != second.Value, "the same cookie")
	for c, want := range map[*http.Cookie]int{first: 200, planted: 303, second: 303, third: 200} {
		assert.Equal(t, s.do("GET", "/account", nil, c).StatusCode, want, "with a cookie")
	}
	out := s.do("POST", "/account/sign-out", nil, third)
	assert.True(
		t,
		out.StatusCode == 303 && out.Cookies()[0].MaxAge < 0 && out.Header.Get("Clear-Site-Data") == `"cache"`,
		out.Header,
	)
	assert.Equal(t, s.do("GET", "/account", nil, third).StatusCode, 303, "after the sign-out")
}

// TestPlainHTTP: without HTTPS only this machine signs in. Servers at two of its ports do not share
// a cookie.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *account.Config) { c.BaseURL = "http://localhost:8080/v1" })
	for host, want := range map[string]int{"api.example.com": 403, "192.0.2.1:8080": 403, "localhost:8080": 303,
		"127.0.0.1:8081": 303, "[::1]:8080": 303, "localhost": 303, "localhost.example.com": 403} {
		r := s.do("POST", "/account/invitation", url.Values{"token": {s.invite(t, "acme")}}, nil, "Host", host)
		assert.Equal(t, r.StatusCode, want, host)
		if want == 303 {
			c := cookieOf(t, r)
			name := "petstore-account"
			if _, port, err := net.SplitHostPort(host); err == nil {
				name += "-" + port
			}
			assert.True(t, c.Name == name && !c.Secure && c.HttpOnly, c)
		}
	}
}

// TestRefusals: whatever is wrong with a key or a link, the answer is the same, byte for byte, and
// repeats nothing of it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, writes := s.key(t, keys.Request{})
	_, test := s.key(t, keys.Request{Scope: keys.ScopeManage, Environment: keys.Test})
	_, elsewhere := s.key(t, keys.Request{Scope: keys.ScopeManage, Allowed: "198.51.100.0/24"})
	revoked, old := s.key(t, keys.Request{Scope: keys.ScopeManage})
	_, err := (&keys.Service{Store: s.staff.Keys}).Revoke(t.Context(), by, revoked.ID)
	assert.NoError(t, err)
	_, suspended := s.key(t, keys.Request{Tenant: "zoo", Scope: keys.ScopeManage})
	_, err = s.staff.Tenants.Suspend(t.Context(), by, "zoo", time.Time{})
	assert.NoError(t, err)
	unknown, err := keys.NewToken(keys.Live)
	assert.NoError(t, err)
	used := s.invite(t, "acme")
	staging, digest := keys.NewSecret()
	_, err = s.staff.SignIns.Invite(t.Context(), by, "acme", keys.Test, digest)
	assert.NoError(t, err)
	cookieOf(t, s.do("POST", "/account/invitation", url.Values{"token": {used}}, nil))
	first := ""
	for i, c := range []struct{ path, name, value string }{
		{"sign-in", "key", writes}, {"sign-in", "key", test}, {"sign-in", "key", elsewhere}, {"sign-in", "key", old},
		{"sign-in", "key", suspended},
		{"sign-in", "key", unknown.Reveal()}, {"sign-in", "key", "<script>"}, {"sign-in", "key", ""},
		{"invitation", "token", used}, {"invitation", "token", staging},
		{"invitation", "token", strings.Repeat("a", 43)}, {"invitation", "token", "<script>"},
	} {
		r := s.do(
			"POST",
			"/account/"+c.path,
			url.Values{c.name: {c.value}},
			nil,
			"From",
			"192.0.2."+string(rune('1'+i%9)),
		)
		body := text(t, r)
		if first == "" {
			first = body
		}
		if r.StatusCode != 403 || len(r.Cookies()) != 0 || body != first ||
			c.value != "" && strings.Contains(body, c.value) {
			t.Errorf("%s %s: %d\n%s", c.path, c.value, r.StatusCode, body)
		}
	}
	cookieOf(
		t,
		s.do("POST", "/account/sign-in", url.Values{"key": {" " + elsewhere + "\n"}}, nil, "From", "198.51.100.7"),
	)
}

// TestKeysAddresses: a sign-in by a key is good only from where the key is.
func TestKeysAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, key := s.key(t, keys.Request{Scope: keys.ScopeManage, Allowed: "198.51.100.0/24"})
	cookie := cookieOf(t, s.do("POST", "/account/sign-in", url.Values{"key": {key}}, nil, "From", "198.51.100.7"))
	for from, want := range map[string]int{"198.51.100.8": 200, "203.0.113.1": 303} {
		assert.Equal(t, s.do("GET", "/account", nil, cookie, "From", from).StatusCode, want, from)
	}
}

// TestAttempts: an address has ten a minute, and a right link counts as well as a wrong one.
func TestAttempts(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_795_000_000, 0).Truncate(time.Minute)
	s := newSite(t, func(c *account.Config) { c.Now = func() time.Time { return now } })
	link := url.Values{"token": {s.invite(t, "acme")}}
	for range 10 {
		assert.Equal(t, s.do("POST", "/account/sign-in", url.Values{"key": {"x"}}, nil).StatusCode, 403, "one of ten")
	}
	r := s.do("POST", "/account/invitation", link, nil)
	assert.True(t, r.StatusCode == 429 && r.Header.Get("Retry-After") == "60", r.StatusCode, r.Header)
	cookieOf(t, s.do("POST", "/account/invitation", link, nil, "From", "198.51.100.7"))
}

// TestOpenTwice: a GET of a link, as a scanner of mail sends it, does not use it up. Of two who
// open it at once one gets in.
func TestOpenTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	token := s.invite(t, "acme")
	for range 3 {
		r := s.do("GET", "/account/invitation?token="+token, nil, nil, "Sec-Fetch-Site", "cross-site")
		page := text(t, r)
		assert.True(
			t,
			r.StatusCode == 200 && len(r.Cookies()) == 0 && strings.Contains(page, `name="token"`) &&
				!strings.Contains(page, token),
			r.StatusCode,
		)
		assert.True(
			t,
			strings.Contains(page, "if it is not older than 15 minutes and nobody has used it"),
			"it promises to sign in",
			page,
		)
	}
	var all sync.WaitGroup
	results := make(chan int, 2)
	for range 2 {
		all.Go(func() { results <- s.do("POST", "/account/invitation", url.Values{"token": {token}}, nil).StatusCode })
	}
	all.Wait()
	assert.Equal(t, <-results+<-results, 303+403, "the two statuses")
}

// TestForeignForms: no form of another site or another origin does anything, also where a proxy
// rewrites Host and the browser is old.
func TestForeignForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cookie := s.signIn(t, "acme")
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "", "Origin", "https://elsewhere.example"},
		{"Sec-Fetch-Site", "", "Origin", "null"},
	} {
		for _, path := range []string{"/account/sign-out", "/account/sign-ins/end", "/account/sign-in",
			"/account/invitation", "/account/webhooks", "/account/webhooks/remove"} {
			r := s.do("POST", path, url.Values{"token": {s.invite(t, "acme")}}, cookie, headers...)
			assert.True(
				t,
				r.StatusCode == 403 && len(r.Cookies()) == 0 && strings.Contains(text(t, r), "Not sent from this site"),
				path,
				headers,
				r.StatusCode,
			)
		}
	}
	assert.Equal(t, s.do("GET", "/account", nil, cookie).StatusCode, 200, "still signed in")
	r := s.do(
		"POST",
		"/account/sign-out",
		nil,
		cookie,
		"Sec-Fetch-Site",
		"",
		"Origin",
		"https://api.example.com",
		"Host",
		"10.0.0.7:8080",
	)
	assert.Equal(t, r.StatusCode, 303, "of its own origin, behind a proxy")
}

// TestEndOthers: a customer ends sign-ins of their own tenant; another's ID is as unknown as any.
func TestEndOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cookie, other, zoo := s.signIn(t, "acme"), s.signIn(t, "acme"), s.signIn(t, "zoo")
	id := func(c *http.Cookie) string {
		found := regexp.MustCompile(
			`name="id" value="([^"]+)"`,
		).FindStringSubmatch(
			text(t, s.do("GET", "/account/sign-ins", nil, c)),
		)
		if found == nil {
			t.Fatal("no sign-in that can be ended")
		}
		return found[1]
	}
	s.signIn(t, "zoo")
	theirs, unknown := id(zoo), "3f0e1d2c-0000-4000-8000-000000000000"
	want := text(t, s.do("POST", "/account/sign-ins/end", url.Values{"id": {unknown}}, cookie))
	for _, id := range []string{theirs, strings.ToUpper(theirs), "", "x", strings.Repeat("x", 5000)} {
		r := s.do("POST", "/account/sign-ins/end", url.Values{"id": {id}}, cookie)
		assert.True(t, r.StatusCode == 404 && text(t, r) == want, "ends", id, r.StatusCode)
	}
	assert.Equal(t, s.do("GET", "/account", nil, zoo).StatusCode, 200, "another tenant's")
	assert.Equal(
		t,
		s.do("POST", "/account/sign-ins/end", url.Values{"id": {id(cookie)}}, cookie).StatusCode,
		303,
		"their own",
	)
	assert.Equal(t, s.do("GET", "/account", nil, other).StatusCode, 303, "after it was ended")
}

// TestOutages: without the database, or if it is too busy, each page says so with 503, and nobody
// is signed out.
func TestOutages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cookie, token := s.signIn(t, "acme"), s.invite(t, "acme")
	for _, down := range []error{keys.ErrUnavailable, catalog.ErrNotMade, errors.New("other")} {
		s.mu.Lock()
		s.down = down
		s.mu.Unlock()
		for _, page := range []string{"GET /account", "GET /account/usage", "GET /account/sign-ins",
			"POST /account/sign-out", "POST /account/invitation"} {
			method, path, _ := strings.Cut(page, " ")
			r := s.do(method, path, url.Values{"token": {token}}, cookie)
			want := "Nothing was changed"
			if method == "POST" && !errors.Is(down, catalog.ErrNotMade) {
				want = "Not known whether it was done"
			}
			assert.True(
				t,
				r.StatusCode == 503 && r.Header.Get("Retry-After") == "1" && len(r.Cookies()) == 0 &&
					strings.Contains(text(t, r), want),
				page,
				r.StatusCode,
			)
		}
	}
	s.mu.Lock()
	s.down = nil
	s.mu.Unlock()
	assert.True(
		t,
		strings.Contains(s.logs.String(), `"route":"GET /account"`) && !strings.Contains(s.logs.String(), token),
		s.logs.String(),
	)
	assert.Equal(t, s.do("GET", "/account", nil, cookie).StatusCode, 200, "afterwards")
}
