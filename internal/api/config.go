package api

import (
	"context"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/ulule/limiter/v3"

	"petstore.example/internal/api/pagecache"
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

// Directory looks up callers by their keys.
type Directory interface {
	// Find returns the caller of a valid key. It returns keys.ErrInvalidKey if the key is not
	// valid: a keys.StatusError, together with the caller, if there is such a key. It returns
	// keys.ErrUnavailable if that can't be determined, and keys.ErrNotCached if only Lookup can.
	// arrived is when the request did, by time.Now: a change that was acknowledged 300 ms before it
	// holds.
	Find(ctx context.Context, t keys.Token, arrived time.Time) (*keys.Caller, error)
	// Lookup also finds the caller of a key that is not in memory, by a query. It does not return
	// keys.ErrNotCached.
	Lookup(ctx context.Context, t keys.Token) (*keys.Caller, error)
}

// Addresses counts requests that come without a valid key.
type Addresses interface {
	// Take counts one request of the address. Reached is true if it is over the limit.
	Take(addr netip.Addr, now time.Time) limiter.Context
	// Return undoes a Take at that time.
	Return(addr netip.Addr, now time.Time)
	// Peek returns the state of the address and counts nothing.
	Peek(addr netip.Addr, now time.Time) limiter.Context
}

// Strikes counts requests that a limit refused, and bans a key that is refused too often.
type Strikes interface {
	// Refused counts one request in the minute window with that number, even if ctx ends: a client
	// can't avoid its strike by disconnecting.
	Refused(ctx context.Context, c *keys.Caller, minute int64, now time.Time)
	// NextBan returns how long a ban of the key would last, or an error that is
	// keys.ErrUnavailable.
	NextBan(ctx context.Context, keyID string, now time.Time) (time.Duration, error)
}

// FailedRequests records some of the requests whose response has a status of 400 or more, for
// support. It must not block.
type FailedRequests interface {
	Add(f usage.FailedRequest)
}

// Meter records usage, by the instant and the tenant's minute in which the request counts. Only
// Flush may block.
type Meter interface {
	// Admitted returns false if the tenant would then have more than most requests that are not
	// recorded. The request may then be admitted only when Flush has recorded it.
	Admitted(b usage.Bucket, at time.Time, minute, most int64) bool
	Refused(b usage.Bucket, at time.Time)
	Refunded(b usage.Bucket, at time.Time, minute int64)
	// Used notes a use of the key by a request that counts nowhere.
	Used(b usage.Bucket, at time.Time)
	Flush(ctx context.Context) error
}

// Config is what the API is built from. All of it is required except FailedRequests, KeyChanges,
// Account, TrustedProxies, Support, Stopping, Invalidator, Stamps, NoOldWrites, ListCacheBytes,
// Instant, Log, Metrics and Tracer.
type Config struct {
	Directory Directory
	Limiter   limits.Limiter
	Addresses Addresses
	Strikes   Strikes
	Meter     Meter
	Pets      catalog.Store
	Orders    catalog.OrderStore
	// Usage is the store behind GET /v1/usage.
	Usage usage.MonthStore
	// Failed is the store behind GET /v1/requests.
	Failed usage.FailedReader
	// Plans is the price list behind GET /v1/plans.
	Plans PriceList
	// Keys is the store behind /v1/keys.
	Keys KeyStore
	// KeyChanges has the changes of keys, those of Account too. By default nobody else counts any.
	KeyChanges *limits.TenantMinute
	// FailedRequests may be nil.
	FailedRequests FailedRequests
	// Account are the pages of customers who sign in, nil for none.
	Account Account
	// Requests makes POSTs with an Idempotency-Key take effect once.
	Requests catalog.OnceStore
	// BaseURL is the public URL of the API, absolute and ending in /v1. Links are made from it,
	// never from Host.
	BaseURL string
	// TrustedProxies are the addresses and networks (CIDR) whose X-Forwarded-For is trusted; none
	// by default.
	TrustedProxies []string
	// Support is named in messages, guides and the OpenAPI document.
	Support Support
	// Invalidator is told of every change to a catalogue. If it is nil, no list is cached.
	Invalidator freshness.Invalidator
	// Stamps returns the stamps of a catalogue at any time, for pages that stay when animals are
	// added. nil if only decisions have them.
	Stamps pagecache.Stamps
	// NoOldWrites reports that no write is under way whose announcement may be over. Otherwise no
	// list is served from the cache. nil for always.
	NoOldWrites func() bool
	// announcer is the Limiter if it can announce writes with its decisions, and there is an
	// Invalidator.
	announcer limits.WriteLimiter
	// ListCacheBytes is how many bytes the page cache may hold, 0 for no cache.
	ListCacheBytes int64
	// pageClock is the page cache's own unless a test sets it.
	pageClock pagecache.Clock
	// BodyBytes is how many bytes of request bodies may be in memory, at least MinBodyBytes.
	BodyBytes int64
	// bodyWindow is bodyWindow unless a test sets it.
	bodyWindow time.Duration
	// Stopping is closed when the server begins to stop: then no request waits for a simulated
	// delay. It may be nil.
	Stopping <-chan struct{}
	// Instant returns the instant by which a request is decided that arrived at a time of time.Now.
	// By default it is that time.
	Instant func(time.Time) time.Time
	Log     zerolog.Logger
	Metrics prometheus.Registerer
	// Tracer is nil if requests are not traced.
	Tracer *tracing.Tracer
}

// api is what all handlers share. It is read-only after New.
type api struct {
	Config
	metrics *metrics
	months  *usage.Months
	// soldPlans are the reads of Plans.
	soldPlans *pagecache.Reads[struct{}, []plans.Plan]
	bodies    *bodyBudget
	// delays are the requests that wait for a simulated delay.
	delays *shares
	// strangerLog is for requests without a valid key, uncountedLog for those with one that count
	// in no window.
	strangerLog, uncountedLog zerolog.Logger
	// trouble limits the lines of requests that failed on our side.
	trouble *loglimit.Limiter[trouble]
	// pageCache is nil if lists are not cached.
	pageCache *pagecache.Cache
	// root is BaseURL without its /v1, and prefix its path.
	root, prefix string
	// help is the Link of an error, by the number of its code.
	help [][]string
	// onlyTLS is the Strict-Transport-Security if the base URL is https, nil otherwise.
	onlyTLS []string
	// site is the documentation, and pages are its paths.
	site  *reference.Site
	pages []string
	// refusals are those of requests without a valid key.
	refusals    *keyRefusals
	credentials *recentCredentials
	// freeReads and keyReads bound what counts in no window.
	freeReads, keyReads limits.TenantMinute
	// petsURL and the others are the lists, absolute.
	petsURL, ordersURL, keysURL, requestsURL string
}
