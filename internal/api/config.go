package api

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/api/pagecache"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/api/reference"
	"petstore.example/internal/catalog"
	"petstore.example/internal/freshness"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/loglimit"
	"petstore.example/internal/plans"
	"petstore.example/internal/tracing"
	"petstore.example/internal/usage"
)

// FailedRequests records some of the requests whose response has a status of 400 or more, for
// support. It must not block.
type FailedRequests interface {
	Add(f usage.FailedRequest)
}

// KeyStore has the tenants' own keys. The requester is the digest of the key that makes the request.
// The store checks this key's rights again, and returns keys.ErrRequester if they do not suffice.
type KeyStore interface {
	// ListKeys returns keys, the newest first.
	ListKeys(
		ctx context.Context,
		tenantID int64,
		requester keys.Digest,
		q keys.CustomerQuery,
	) ([]keys.CustomerKey, error)
	// ChangeKey makes a change and returns the key, or the new key of a rotation. With once, it
	// makes the change only once: a repetition returns a keys.AlreadyIssuedError, or an error of
	// catalog.OnceStore. It also returns the errors of a tenant's own changes.
	ChangeKey(
		ctx context.Context,
		tenantID int64,
		requester keys.Digest,
		c keys.CustomerChange,
		once *catalog.Idempotency,
	) (keys.CustomerKey, error)
}

// PriceList has the plans on sale.
type PriceList interface {
	// Sold returns the plans that are listed and can be assigned now, with the numbers in force.
	// The smallest is first; plans without numbers are last. It returns keys.ErrUnavailable if
	// Postgres does not answer.
	Sold(ctx context.Context) ([]plans.Plan, error)
}

// Account serves the pages of customers who sign in. Requests for them count for the address. It
// gets each request with its body already read. RemoteAddr is the client's address with port 0,
// even behind proxies.
type Account interface {
	http.Handler
	// Routes are its methods and paths, as "GET /account".
	Routes() []string
}

// Config has the parts of the API. Stopping, Instant, Log, Metrics and Tracer may be left out. Each
// group says which of its parts may be, too.
type Config struct {
	Stores
	Limits
	Site

	// announcer is the Limiter if it can announce writes with its decisions and there is an
	// Invalidator, else nil.
	announcer limits.WriteLimiter
	// Stopping is closed when the server begins to stop. Then no request waits for a simulated
	// delay. It may be nil.
	Stopping <-chan struct{}
	// Instant returns the instant by which a request is decided. Its argument is when the request
	// arrived, by time.Now, and also its default result.
	Instant func(time.Time) time.Time
	Log     zerolog.Logger
	Metrics prometheus.Registerer
	// Tracer is nil if requests are not traced.
	Tracer *tracing.Tracer
}

// Stores are what the API reads and writes. FailedRequests, Invalidator, Stamps and NoOldWrites may be
// nil.
type Stores struct {
	Pets   catalog.Store
	Orders catalog.OrderStore
	// Usage is the store behind GET /v1/usage.
	Usage usage.MonthStore
	// Failed is the store behind GET /v1/requests.
	Failed usage.FailedReader
	// Plans is the price list behind GET /v1/plans.
	Plans PriceList
	// Keys is the store behind /v1/keys.
	Keys     KeyStore
	Webhooks Webhooks
	// FailedRequests may be nil.
	FailedRequests FailedRequests
	// Requests makes POSTs with an Idempotency-Key take effect once.
	Requests catalog.OnceStore
	// Invalidator is told of every change to a catalogue. If it is nil, no list is cached.
	Invalidator freshness.Invalidator
	// Stamps returns the stamps of a catalogue at any time. With it, some cached pages stay valid
	// when animals are added. It is nil if only decisions have stamps.
	Stamps pagecache.Stamps
	// NoOldWrites returns false while a write may have outlived its announcement. Then no list is
	// served from the cache. If it is nil, that never happens.
	NoOldWrites func() bool
	// pageClock is the clock of the page cache in tests, otherwise nil.
	pageClock pagecache.Clock
}

// Limits say who is served, and how much of it. KeyChanges may be nil, and ListCacheBytes 0.
type Limits struct {
	Directory gate.Directory
	Limiter   limits.Limiter
	Addresses gate.Addresses
	Strikes   gate.Strikes
	Meter     gate.Meter
	// KeyChanges counts the changes of keys and webhooks, including Account's. If it is nil, the API counts only
	// its own.
	KeyChanges *limits.TenantMinute
	// ListCacheBytes is the maximum size of the page cache, 0 for no cache.
	ListCacheBytes int64
	// BodyBytes is how many bytes of request bodies may be in memory, at least MinBodyBytes.
	BodyBytes int64
	// bodyWindow replaces the constant bodyWindow in tests; otherwise it is 0.
	bodyWindow time.Duration
}

// Site is where the API is. TrustedProxies, Support and Account may be left out.
type Site struct {
	// Account serves the pages of customers who sign in, nil for none.
	Account Account
	// BaseURL is the public URL of the API, absolute and ending in /v1. Links are made from it,
	// never from Host.
	BaseURL string
	// TrustedProxies are the addresses and networks (CIDR) whose X-Forwarded-For is trusted; none
	// by default.
	TrustedProxies []string
	// Support is named in messages, guides and the OpenAPI document.
	Support problem.Support
}

// api is what all handlers share. It is read-only after New.
type api struct {
	Config
	metrics *metrics
	months  *usage.Months
	// soldPlans are the reads of Plans.
	soldPlans *pagecache.Reads[struct{}, []plans.Plan]
	bodies    *bodyBudget
	// strangerLog is for requests without a valid key. uncountedLog is for requests with a valid
	// key that count in no window.
	strangerLog, uncountedLog zerolog.Logger
	// trouble limits the log lines about requests that failed on our side.
	trouble *loglimit.Limiter[trouble]
	// pageCache is nil if lists are not cached.
	pageCache *pagecache.Cache
	// root is BaseURL without its /v1, and prefix is root's path.
	root, prefix string
	// help has the Link of an error, by the number of its code.
	help [][]string
	// onlyTLS is the Strict-Transport-Security if the base URL is https, nil otherwise.
	onlyTLS []string
	// site is the documentation, and pages are its paths.
	site  *reference.Site
	pages []string
	// paths are the paths of the contract, and methods the methods of each path.
	paths   []string
	methods map[string][]string
	// gate finds the sender of a request, and decides whether the request is served.
	gate *gate.Gate
	// The absolute URLs of the lists.
	petsURL, ordersURL, keysURL, webhooksURL, requestsURL string
}

// operation is a route of the contract with its handler.
type operation struct {
	route
	handle handler
}

// handler responds to one operation, or returns an error.
type handler func(a *api, x *exchange) error
