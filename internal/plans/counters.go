package plans

import "context"

// counters is where a Redis limiter counts in terms in which Redis decides: scripts in Redis, or the same in a test's memory.
// A call takes the timeout of RedisOptions at most. An error means that it may have been carried out or not; after one
// from any method but expect the limiter takes Redis for lost.
//
// What is counted for a tenant belongs to one term: it begins with begin, and a call of another term finds it unopened.
type counters interface {
	// take counts each ask as far as it fits, in their order, and sets its answer.
	take(term int64, asks []ask) error
	// begin begins a tenant's count in a term at that base, unless it has begun in this or a later one. changing says
	// that its catalogue may be changed by servers that did not say so in this term, as long as [freshness.WriteIntentTTL].
	begin(ctx context.Context, term, tenantID int64, b Baseline, changing bool) error
	// beginKey begins a key's count in that minute of a term, unless it has begun in it or a later one.
	beginKey(ctx context.Context, term, tenantID int64, keyID string, minute, used int64) error
	// refund takes one from each window that is still the current one, and tells all servers so.
	refund(ctx context.Context, term int64, c *Claim, minute, day int64) error
	// beginWrite leaves a write intent, and gives the tenant's catalogue a new version; ok is false when the tenant is unopened.
	beginWrite(ctx context.Context, term, tenantID int64) (version int64, ok bool, err error)
	// endWrite removes the write intent of that version. A late one does nothing.
	endWrite(ctx context.Context, term, tenantID, version int64) error
	// probe tells whether Redis can do all of this, on every master, and which Redis it is.
	probe(ctx context.Context) (fingerprint string, err error)
	// expect has calls fail that reach another Redis than that. With "" all do, but probes.
	expect(fingerprint string)
}

// ask is a number of requests of one claim, in the windows of those numbers.
type ask struct {
	claim       Claim
	minute, day int64
	// count is how many; 0 only looks.
	count int64
	// again says that an ask before it in the same call is of the same tenant.
	again bool
	// before is for flights.
	before int32
	answer
}

// answer is what became of an ask.
type answer struct {
	status status
	// inMinute and inDay number the windows in which the requests count: those of the ask, or later ones.
	inMinute, inDay int64
	// used is how much of them was used before. As many of the requests count as fit into all windows.
	used used
	// version is that of the tenant's catalogue within the term, from 1; 0 while it changes.
	version int64
}

// after returns what is used of the windows after the requests of the ask that count, and how many those are.
func (k *ask) after() (u used, fits int64) {
	fits = min(k.count, k.claim.Quota.PerMinute-k.used.minute, k.claim.Quota.PerDay-k.used.day)
	if k.claim.KeyPerMinute > 0 {
		fits = min(fits, k.claim.KeyPerMinute-k.used.key)
	}
	fits = max(0, fits)
	return k.used.plus(fits), fits
}

// status says whether an ask could be answered.
type status int8

const (
	// counted: the answer stands.
	counted status = iota
	// unopened: the tenant's count has not begun in this term.
	unopened
	// keyUnopened: the key's has not, in the minute in which the tenant's began.
	keyUnopened
)
