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
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// SignIns stores who is signed in. All but Open return keys.ErrNoSignIn for one that is over.
type SignIns interface {
	// Open begins a sign-in by the digest of an invitation or of a manage key, and reports whether
	// there is one for that client and those deployments. Otherwise nothing changes.
	Open(ctx context.Context, by, session keys.Digest, client netip.Addr, env keys.Environment) (bool, error)
	// Use returns a sign-in. One that is noted goes on.
	Use(ctx context.Context, session keys.Digest, now time.Time, noted bool) (keys.SignedIn, error)
	List(ctx context.Context, session keys.Digest) ([]keys.SignIn, error)
	// End ends the one with that ID of the same tenant, "" for its own.
	End(ctx context.Context, session keys.Digest, id string) error
	// Bans are the keys that are banned.
	Bans(ctx context.Context, session keys.Digest, now time.Time) ([]keys.Key, error)
}

// Config is what an Account is made of.
type Config struct {
	SignIns SignIns
	Limiter limits.Limiter
	Usage   usage.MonthStore
	Keys    Keys
	// KeyChanges has the changes of keys, also those by /v1/keys.
	KeyChanges *limits.TenantMinute
	Failed     usage.FailedReader
	// FailedPage selects by the query of GET /v1/requests, or says what is wrong with it.
	FailedPage func(query url.Values, now time.Time) (page usage.FailedPage, problem string)
	// Sold returns the plans that are sold.
	Sold func(context.Context) ([]plans.Plan, error)
	// Turn makes a call to SignIns in the turn of a tenant, 0 for none.
	Turn func(ctx context.Context, tenantID int64, call func(context.Context) error) error
	// Place has call run in a place of the tenant's for reads that count in no window.
	Place func(ctx context.Context, tenantID int64, call func(context.Context) error) error
	// BaseURL is the public URL of the API, absolute and ending in /v1.
	BaseURL string
	// SupportURL and SupportEmail may be empty.
	SupportURL, SupportEmail string
	// Environment is that of the keys that may sign in.
	Environment keys.Environment
	// Now is the time by which limits are decided.
	Now func() time.Time
	// Log has what failed, never a text that a client chose.
	Log zerolog.Logger
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
	// attempts counts those to sign in.
	attempts *limits.Addresses
}

// perMinute is how often an address may try to sign in.
const perMinute = 10

//go:embed pages
var files embed.FS

// New returns the pages.
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
				_, _ = w.Write(v.body.Bytes()) // It fails if the client has disconnected.
			}
		})
	}
	return a, nil
}

// route is a page, or what a form does. public ones need no sign-in.
type route struct {
	pattern string
	public  bool
	do      func(*visit) error
}

// routes also leads from the address of a form, which a browser that loads the answer again asks
// for by GET, to the page of the form.
func (a *Account) routes() []route {
	all := []route{
		{"GET /account", false, (*visit).overview},
		{"GET /account/usage", false, (*visit).usage},
		{"GET /account/keys", false, (*visit).keys},
		{"POST /account/keys", false, (*visit).issueKey},
		{"POST /account/keys/edit", false, (*visit).editKey},
		{"POST /account/keys/rotate", false, (*visit).rotateKey},
		{"POST /account/keys/revoke", false, (*visit).revokeKey},
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

// Routes are the patterns.
func (a *Account) Routes() (patterns []string) {
	for _, r := range a.routes() {
		patterns = append(patterns, r.pattern)
	}
	return patterns
}

// policy lets a page load and send only what is the site's own, and nobody frame it.
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

// visit is one request. Its page is sent when all of it is made.
type visit struct {
	*Account
	*http.Request
	// session is the digest of the cookie, and who the sign-in, its Tenant nil for nobody's.
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
	case errors.Is(err, keys.ErrNoSignIn), errors.Is(err, keys.ErrAsker):
		to := "/account/sign-in"
		if v.session != (keys.Digest{}) {
			to += "?ended=session"
		}
		v.redirect(to)
	case errors.Is(err, catalog.ErrManyReads):
		v.header.Set("Retry-After", "1")
		_ = v.message(http.StatusTooManyRequests, "manyReads")
	default:
		if v.Context().Err() == nil { // The client waits.
			v.Log.Error().Err(err).Str("route", r.pattern).Msg("a page of the account failed")
		}
		v.header.Set("Retry-After", "1")
		kind := "unavailable"
		if v.Method == http.MethodPost && !errors.Is(err, catalog.ErrNotMade) {
			kind = "unknown"
		}
		_ = v.message(http.StatusServiceUnavailable, kind) // What is wrong is in the log.
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
	return v.Place(v.Context(), v.who.Tenant.ID, func(ctx context.Context) error {
		v.Request = v.WithContext(ctx)
		return r.do(v)
	})
}

// turn makes a call to SignIns.
func (v *visit) turn(call func(context.Context) error) error {
	tenant := int64(0)
	if v.who.Tenant != nil {
		tenant = v.who.Tenant.ID
	}
	return v.Turn(v.Context(), tenant, call)
}

// redirect leads to a page by GET.
func (v *visit) redirect(path string) {
	v.body.Reset()
	v.header.Set("Location", v.prefix+path)
	v.status = http.StatusSeeOther
}

// client is the address of the client, the zero Addr if it is not known.
func (v *visit) client() netip.Addr {
	at, _ := netip.ParseAddrPort(v.RemoteAddr) // zero with the error
	return at.Addr()
}
