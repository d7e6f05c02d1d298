package gate

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/ulule/limiter/v3"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/api/shares"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/usage"
)

// Config has the parts of a gate. Announcer, Instant and Stopping may be nil.
type Config struct {
	Directory Directory
	Limiter   limits.Limiter
	// Announcer is the Limiter if it can announce writes with its decisions, else nil.
	Announcer limits.WriteLimiter
	Addresses Addresses
	Strikes   Strikes
	Meter     Meter
	// KeyChanges counts the changes of keys and webhooks.
	KeyChanges *limits.TenantMinute
	Support    problem.Support
	// Instant returns the instant by which a request is decided. Its argument is when the request
	// came, by time.Now.
	Instant func(time.Time) time.Time
	// Clock returns the time at the end of a step of the gate, for traces.
	Clock func() time.Time
	// Stopping is closed when the server begins to stop: then no request waits for a simulated delay.
	Stopping <-chan struct{}
}

// Gate finds the sender of a request, and decides whether the request is served.
type Gate struct {
	Config
	// refusals are the refusals of requests without a valid key.
	refusals    *keyRefusals
	credentials *recentCredentials
	// freeReads and keyReads limit reads that count in no window: of failed requests, and of keys.
	freeReads, keyReads limits.TenantMinute
	// delays are the requests that wait for a simulated delay.
	delays *shares.Shares
}

// maxDelays is how many requests may wait for a simulated delay at the same time.
// MaxDelaysPerTenant is how many of one tenant may. Each holds a connection.
const (
	maxDelays          = 256
	MaxDelaysPerTenant = 16
)

// New returns a gate that has counted nothing yet.
func New(c Config) *Gate {
	return &Gate{
		Config:      c,
		refusals:    newKeyRefusals(c.Support),
		credentials: newRecentCredentials(),
		delays:      shares.New(maxDelays, MaxDelaysPerTenant),
	}
}

// Request is what a gate must know about a request.
type Request struct {
	Method   string
	Header   http.Header
	RawQuery string
	Route    *Facts
	// Needs is the scope that a key must have for the request.
	Needs  keys.Scope
	Sender Sender
	// Came is when the request came, by time.Now. Now is the instant by which everything about it
	// is decided. A simulated delay moves both.
	Came, Now time.Time
}

// Sender is the sender of a request.
type Sender interface {
	// Address is unmapped and without a zone; the zero Addr if unknown.
	Address() netip.Addr
	// Authenticated tells the connection that the request has a valid key of the tenant.
	Authenticated(tenantID int64)
}

// Facts are what a gate must know about a route.
type Facts struct {
	// Unmetered routes count in no window of the caller, and no window refuses them.
	Unmetered bool
	// Counts, if not nil, tells which queries of an unmetered route count nevertheless.
	Counts func(rawQuery string) bool
	// Writes is true if the operation, unless it fails, writes to the tenant's catalogue.
	Writes bool
	// Public routes need no key.
	Public bool
	// ChangesKeys is true if the operation changes the tenant's keys or webhooks, which has a limit.
	ChangesKeys bool
}

// Outcome is what a gate has found out about a request, and how the request was counted. Limits
// returns the part that a response shows.
type Outcome struct {
	// Caller is nil for a request without a valid key. Then Refusal says why, and KeyOf is the
	// key's owner if the key exists. Token is the caller's.
	Caller  *keys.Caller
	Token   keys.Token
	Refusal *problem.Error
	KeyOf   *keys.Caller
	// bucket is where the caller's requests count as usage.
	bucket usage.Bucket

	// Decision is the limiter's. Counted is true if the request was admitted and has not been
	// refunded.
	Decision limits.Decision
	Counted  bool
	// ofAddress are the limits of the address, if the request counts for it or shows them.
	// addressCounted is true if the request has been counted for its address.
	ofAddress      limiter.Context
	showsAddress   bool
	addressCounted bool
	// refused is true if a ban or a window refused the request, which then counts as refused.
	refused bool
	// banEnds is the Unix time at which the ban that refused the request ends, 0 for none.
	banEnds int64
	// minute is the per-minute limit, of uncounted requests, that refused this one. Its name is
	// empty for none.
	minute Window
	// keyChange is true if the request was counted as a change of keys. If the request fails, the
	// count is undone.
	keyChange bool
	// announced is the write that was announced with the decision, nil for none.
	announced limits.Announced

	// Simulated is the error that the client asked for. A request with one counts nowhere.
	// delaysFull is true if too many requests are waiting for their delays.
	Simulated  *problem.Code
	delaysFull bool

	// Identified is when the caller was known, and Admitting when the decision about the request
	// began.
	Identified, Admitting time.Time
}

// Limits returns the limits that a response shows: the limit or ban that refused the request, else
// the limits of the caller or address for which it counts. now is the instant of the request.
func (o *Outcome) Limits(now time.Time) Limits {
	switch {
	case o.minute.Name != "":
		l := Limits{Limit: o.minute.Quota, Reset: o.minute.Reset}
		l.add(o.minute.Name, o.minute.Reset, o.minute.Quota, 0, o.minute.Reset)
		return l
	case o.showsAddress:
		return addressLimits(o.ofAddress)
	case o.banEnds != 0:
		return bannedLimits(o.Caller, o.banEnds, now)
	}
	return tenantLimits(&o.Decision)
}

// ShowAddress makes the response show the limits of the address.
func (o *Outcome) ShowAddress(l limiter.Context) { o.ofAddress, o.showsAddress = l, true }

// ReleaseWrite tells the limiter that the request begins no further write.
func (o *Outcome) ReleaseWrite() {
	if o.announced != nil {
		o.announced.Release()
		o.announced = nil
	}
}

// uncount makes the limits show the state without the request.
func (o *Outcome) uncount() {
	windows, count := o.Decision.Windows()
	for _, w := range windows[:count] {
		w.Remaining++
	}
	o.Decision.Overage = max(0, o.Decision.Overage-1)
}

// ReturnKeyChange undoes the count of a change of keys.
func (g *Gate) ReturnKeyChange(r *Request, o *Outcome) {
	if o.keyChange {
		g.KeyChanges.Return(o.Caller.Tenant.ID, r.Now)
	}
}

// SetNow treats the request as if it came now.
func (g *Gate) SetNow(r *Request) {
	r.Came = time.Now()
	r.Now = r.Came
	if g.Instant != nil {
		r.Now = g.Instant(r.Came)
	}
}
