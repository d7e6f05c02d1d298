package account

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/mail"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
	"petstore.example/internal/webhooks"
)

// SignIns stores who is signed in. All methods except Open return keys.ErrNoSignIn if the sign-in
// has ended.
type SignIns interface {
	// Open begins a sign-in. by is the digest of an invitation or of a manage key. If none with
	// that digest is valid for client and env, Open returns false and changes nothing.
	Open(ctx context.Context, by, session keys.Digest, client netip.Addr, env keys.Environment) (bool, error)
	// Use returns a sign-in. If noted is set, the use is recorded, which prolongs the sign-in.
	Use(ctx context.Context, session keys.Digest, now time.Time, noted bool) (keys.SignedIn, error)
	List(ctx context.Context, session keys.Digest) ([]keys.SignIn, error)
	// End ends the session's sign-in if id is "", else the sign-in of the same tenant with that ID.
	End(ctx context.Context, session keys.Digest, id string) error
	// Bans returns the tenant's banned keys.
	Bans(ctx context.Context, session keys.Digest, now time.Time) ([]keys.Key, error)
}

// Config has the parts of an Account.
type Config struct {
	Stores
	Limits
	Site

	// Links reads the links in mails; nil if none is sent.
	Links *mail.Links
	// Now is the time by which limits are decided.
	Now func() time.Time
	// Log gets failures, never a text that a client chose.
	Log zerolog.Logger
}

// Stores are what the pages read and write.
type Stores struct {
	SignIns SignIns
	Usage   usage.MonthStore
	Keys    Keys
	Failed  usage.FailedReader
	// FailedPage reads the query of GET /v1/requests. problem says what is wrong with it.
	FailedPage func(query url.Values, now time.Time) (page usage.FailedPage, problem string)
	Webhooks   webhooks.Customers
	Addresses  Addresses
	// Sealer encrypts the secrets of webhooks, nil if they are off. Rules are those of their URLs.
	Sealer *webhooks.Sealer
	Rules  *webhooks.Rules
	// Sold returns the plans on sale.
	Sold func(context.Context) ([]plans.Plan, error)
	// Turn runs call, a call to SignIns, in the tenant's turn; 0 stands for no tenant.
	Turn func(ctx context.Context, tenantID int64, call func(context.Context) error) error
	// Place runs call, a page or a change of webhooks, when the tenant has fewer such calls under
	// way than it may.
	Place func(ctx context.Context, tenantID int64, call func(context.Context) error) error
}

// Limits are those of the tenants, shared with the API.
type Limits struct {
	Limiter limits.Limiter
	// KeyChanges counts the changes of keys and webhooks, including those by the API.
	KeyChanges *limits.TenantMinute
}

// Site is where the pages are. SupportURL and SupportEmail may be empty.
type Site struct {
	// BaseURL is the public URL of the API, absolute and ending in /v1.
	BaseURL string

	SupportURL, SupportEmail string
	// Environment is the environment of the keys that may sign in.
	Environment keys.Environment
}

// Account is a handler.
type Account struct {
	Config
	// secure is true if the pages are served by HTTPS; otherwise only this machine may sign in.
	secure bool
	prefix string
	cross  *http.CrossOriginProtection
	mux    *http.ServeMux
	pages  map[string]*template.Template
	// attempts counts the attempts to sign in.
	attempts *limits.Addresses
}

// perMinute is how often per minute an address may try to sign in.
const perMinute = 10

//go:embed pages
var files embed.FS

// New returns the handler of the pages.
func New(c Config) (*Account, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("configure account: %w", err)
	}
	a := &Account{
		Config:   c,
		secure:   base.Scheme == "https",
		prefix:   strings.TrimSuffix(base.EscapedPath(), "/v1"),
		cross:    http.NewCrossOriginProtection(),
		mux:      http.NewServeMux(),
		pages:    map[string]*template.Template{},
		attempts: limits.NewAddresses(perMinute),
	}
	if err := a.cross.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
		return nil, fmt.Errorf("configure account: %w", err)
	}
	a.cross.AddInsecureBypassPattern(unsubscribe)
	for name := range titles {
		a.pages[name], err = template.New("layout.html").Funcs(
			functions,
		).ParseFS(
			files,
			"pages/layout.html",
			"pages/"+name+".html",
		)
		if err != nil {
			return nil, fmt.Errorf("configure account: %w", err)
		}
	}
	for _, r := range a.routes() {
		a.mux.HandleFunc(r.pattern, func(w http.ResponseWriter, q *http.Request) {
			v := &visit{Account: a, Request: q, header: w.Header(), status: http.StatusOK}
			v.answer(r)
			v.header.Set("Content-Length", strconv.Itoa(v.body.Len()))
			w.WriteHeader(v.status)
			if q.Method != http.MethodHead {
				_, _ = w.Write(v.body.Bytes()) // Write fails if the client has disconnected.
			}
		})
	}
	return a, nil
}

// route is a page, or the action of a form. A public one needs no sign-in.
type route struct {
	pattern string
	public  bool
	do      func(*visit) error
}

// routes returns all routes. To reload the answer to a form, a browser sends GET to the form's
// address, so that address redirects to the form's page.
func (a *Account) routes() []route {
	all := []route{
		{"GET /account", false, (*visit).overview},
		{"GET /account/usage", false, (*visit).usage},
		{"GET /account/keys", false, (*visit).keys},
		{"POST /account/keys", false, (*visit).issueKey},
		{"POST /account/keys/edit", false, (*visit).editKey},
		{"POST /account/keys/rotate", false, (*visit).rotateKey},
		{"POST /account/keys/revoke", false, (*visit).revokeKey},
		{"GET /account/webhooks", false, (*visit).endpoints},
		{"POST /account/webhooks", false, placed((*visit).addEndpoint)},
		{"POST /account/webhooks/edit", false, placed((*visit).editEndpoint)},
		{"POST /account/webhooks/rotate", false, placed((*visit).rotateEndpoint)},
		{"POST /account/webhooks/test", false, placed((*visit).testEndpoint)},
		{"POST /account/webhooks/retry", false, placed((*visit).retryDelivery)},
		{"POST /account/webhooks/replay", false, placed((*visit).replayEndpoint)},
		{"POST /account/webhooks/remove", false, placed((*visit).removeEndpoint)},
		{"GET /account/requests", false, (*visit).requests},
		{"GET /account/requests/explained", false, (*visit).request},
		{"GET /account/sign-ins", false, (*visit).signIns},
		{"POST /account/sign-ins/end", false, (*visit).endSignIn},
		{"POST /account/sign-out", false, (*visit).signOut},
		{"GET /account/sign-in", true, (*visit).askForKey},
		{"POST /account/sign-in", true, (*visit).signInByKey},
		{"GET /account/invitation", true, (*visit).showInvitation},
		{"POST /account/invitation", true, (*visit).acceptInvitation},
	}
	for _, kind := range []mail.LinkKind{mail.ToConfirm, mail.ToUnsubscribe} {
		link := mail.LinksPath + string(kind)
		all = append(all, route{"GET " + link, true, mailLink(kind)}, route{"POST " + link, true, mailLink(kind)})
	}
	for _, r := range all {
		get := strings.Replace(r.pattern, http.MethodPost, http.MethodGet, 1)
		if !slices.ContainsFunc(all, func(r route) bool { return r.pattern == get }) {
			all = append(all, route{get, false, (*visit).goBack})
		}
	}
	return all
}

func (v *visit) goBack() error {
	v.redirect(path.Dir(v.URL.Path))
	return nil
}

// Routes returns the patterns of all routes.
func (a *Account) Routes() (patterns []string) {
	for _, r := range a.routes() {
		patterns = append(patterns, r.pattern)
	}
	return patterns
}

// policy lets a page load and send only the site's own resources, and forbids frames around it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin",
		"X-Content-Type-Options":     "nosniff", "Cache-Control": "no-store",
		"Content-Type": "text/html; charset=utf-8",
	} {
		w.Header().Set(name, value)
	}
	a.mux.ServeHTTP(w, r)
}

// visit is one request. Its page is sent when it is complete.
type visit struct {
	*Account
	*http.Request
	// session is the digest of the cookie, and who is the sign-in. who.Tenant is nil if nobody is
	// signed in.
	session keys.Digest
	who     keys.SignedIn
	now     time.Time

	header http.Header
	status int
	body   bytes.Buffer
}

// answer makes the response.
func (v *visit) answer(r route) {
	v.now = v.Now()
	err := v.do(r)
	switch {
	case err == nil:
	case errors.Is(err, keys.ErrNoSignIn), errors.Is(err, keys.ErrRequester):
		to := "/account/sign-in"
		if v.session != (keys.Digest{}) {
			to += "?ended=session"
		}
		v.redirect(to)
	case errors.Is(err, catalog.ErrManyReads):
		v.header.Set("Retry-After", "1")
		_ = v.message(http.StatusTooManyRequests, "manyReads")
	default:
		if v.Context().Err() == nil { // The client still waits.
			v.Log.Error().Err(err).Str("route", r.pattern).Msg("a page of the account failed")
		}
		v.header.Set("Retry-After", "1")
		kind := "unavailable"
		if v.Method == http.MethodPost && !errors.Is(err, catalog.ErrNotMade) {
			kind = "unknown"
		}
		_ = v.message(http.StatusServiceUnavailable, kind) // The log says what is wrong.
	}
}

func (v *visit) do(r route) error {
	if v.cross.Check(v.Request) != nil {
		return v.message(http.StatusForbidden, "crossOrigin")
	}
	if r.public {
		return r.do(v)
	}
	if err := v.find(); err != nil {
		return err
	}
	if v.Method == http.MethodPost {
		return r.do(v)
	}
	return placed(r.do)(v)
}

// placed makes do run in one of the tenant's places.
func placed(do func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		return v.Place(v.Context(), v.who.Tenant.ID, func(ctx context.Context) error {
			v.Request = v.WithContext(ctx)
			return do(v)
		})
	}
}

// turn makes a call to SignIns in the tenant's turn.
func (v *visit) turn(call func(context.Context) error) error {
	tenant := int64(0)
	if v.who.Tenant != nil {
		tenant = v.who.Tenant.ID
	}
	return v.Turn(v.Context(), tenant, call)
}

// redirect sends the browser to a page, by GET.
func (v *visit) redirect(path string) {
	v.body.Reset()
	v.header.Set("Location", v.prefix+path)
	v.status = http.StatusSeeOther
}

// client is the client's address, the zero Addr if unknown.
func (v *visit) client() netip.Addr {
	at, _ := netip.ParseAddrPort(v.RemoteAddr) // zero with the error
	return at.Addr()
}
