package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/api/pagecache"
	"petstore.example/internal/api/reference"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// New returns the API as a handler for an http.Server. Set the server's
// DisableGeneralOptionsHandler, so that OPTIONS * reaches this handler too. The error names what is
// wrong with the configuration.
func New(c Config) (http.Handler, error) {
	if err := c.Support.Check(); err != nil {
		return nil, fmt.Errorf("configure api: %w", err)
	}
	base, err := parseBaseURL(c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("configure api: base URL: %w", err)
	}
	c.invalidateOnWrite()
	c.KeyChanges = cmp.Or(c.KeyChanges, new(limits.TenantMinute))
	m, noMetrics := newMetrics(c.Metrics)
	cache, noCache := c.newPageCache()
	bodies, noBodies := newBodyBudget(c.BodyBytes, c.bodyWindow, c.Metrics)
	site, noSite := reference.New(c.BaseURL, reference.Support(c.Support), openAPIText)
	if err := errors.Join(noMetrics, noCache, noBodies, noSite); err != nil {
		return nil, fmt.Errorf("configure api: %w", err)
	}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.RemoteIPHeaders = []string{"X-Forwarded-For"}
	if err := engine.SetTrustedProxies(c.TrustedProxies); err != nil {
		return nil, fmt.Errorf("configure api: trusted proxies: %w", err)
	}
	a := &api{
		Config:    c,
		metrics:   m,
		months:    usage.NewMonths(c.Usage),
		soldPlans: &pagecache.Reads[struct{}, []plans.Plan]{Wait: readTimeout},
		bodies:    bodies,
		pageCache: cache,
		prefix:    strings.TrimSuffix(base.Path, "/v1"),
		root:      strings.TrimSuffix(c.BaseURL, "/v1"),
		strangerLog: sampled(
			c.Log,
			"requests without a valid key",
		),
		uncountedLog: sampled(c.Log, "requests that did not count"),
		trouble:      newTrouble(c.Log),
		gate: gate.New(gate.Config{
			Directory: c.Directory, Limiter: c.Limiter, Announcer: c.announcer, Addresses: c.Addresses,
			Strikes: c.Strikes, Meter: c.Meter, KeyChanges: c.KeyChanges, Support: c.Support, Instant: c.Instant,
			Stopping: c.Stopping, Clock: c.Tracer.Now,
		}),
		site:        site,
		petsURL:     c.BaseURL + "/pets",
		ordersURL:   c.BaseURL + "/store/orders",
		methods:     map[string][]string{},
		keysURL:     c.BaseURL + "/keys",
		webhooksURL: c.BaseURL + "/webhooks",
		requestsURL: c.BaseURL + "/requests",
	}
	a.help, a.onlyTLS = helpLinks(a.root, ""), strictTransport[base.Scheme]
	for _, p := range site.Pages {
		a.pages = append(a.pages, p.Path)
	}
	entry, err := a.entryRoutes()
	if err != nil {
		return nil, fmt.Errorf("configure api: %w", err)
	}
	a.mount(engine, append(docsRoutes(site), entry...))
	return matchRawPath(engine), nil
}

// newPageCache returns nil if nothing may be cached: because there is no memory for it, or no
// Invalidator.
func (c Config) newPageCache() (*pagecache.Cache, error) {
	if c.ListCacheBytes <= 0 || c.Invalidator == nil {
		return nil, nil
	}
	return pagecache.New(c.ListCacheBytes, c.Stamps, c.pageClock, c.Metrics)
}

// CheckBaseURL returns an error that says what is wrong with a base URL. The error is to be printed
// after the URL's name.
func CheckBaseURL(s string) error {
	_, err := parseBaseURL(s)
	return err
}

func parseBaseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("must be absolute, beginning with http:// or https://")
	case u.RawQuery != "", u.Fragment != "", u.User != nil:
		return nil, errors.New("must have no user, query or fragment")
	case !strings.HasSuffix(u.Path, "/v1"):
		return nil, errors.New("must end in /v1")
	}
	return u, nil
}

// mount registers the table and the documentation pages. Methods are in alphabetical order, because
// Gin writes Allow in the order of registration.
func (a *api) mount(e *gin.Engine, pages []operation) {
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.HandleMethodNotAllowed = true
	contract := table()
	for _, r := range contract {
		a.methods[r.path] = append(a.methods[r.path], r.method)
	}
	for _, r := range routes {
		a.paths = append(a.paths, r.path)
	}
	all := append(append(contract, implied(pages)...), a.accountRoutes()...)
	slices.SortStableFunc(all, func(a, b operation) int { return strings.Compare(a.method, b.method) })
	for _, r := range all {
		e.Handle(r.method, ginPath.Replace(r.path), a.serve(r))
	}
	e.NoRoute(a.serve(operation{route{path: unmatched, public: true}, routeNotFound}))
	e.NoMethod(a.serve(operation{route{path: unmatched, public: true}, methodNotAllowed}))
}

// ginPath turns {petId} into :petId.
var ginPath = strings.NewReplacer("{", ":", "}", "")
