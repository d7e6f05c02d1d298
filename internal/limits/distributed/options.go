package distributed

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits/counter"
)

const (
	// DefaultTimeout bounds one reply of Redis.
	DefaultTimeout = 100 * time.Millisecond
	// CallTimeouts is how many timeouts a call may take if it needs a new connection: the dial, the
	// login, the choice of the database, the check of the process, and the call itself.
	CallTimeouts = 5
)

// Cluster is this server's part in the agreement on who decides: a *cluster.Member.
type Cluster interface {
	// Term returns the term in force, and false between two terms and after the lease has ended. It
	// is called for every request.
	Term() (cluster.Term, bool)
	// Valid reports whether the term with that number is still in force.
	Valid(number int64) bool
	// StoreUnreachable reports whether no term can begin, because Postgres does not answer.
	StoreUnreachable() bool
	// Await waits until a term is in force.
	Await(ctx context.Context) (cluster.Term, error)
	// SetRedis says which Redis this server sees, "" for none.
	SetRedis(fingerprint string)
	// Forgot says that Redis has lost the counts of a term.
	Forgot(number int64)
	// Saw says that a term with that number exists, or existed.
	Saw(number int64)
}

var _ Cluster = (*cluster.Member)(nil)

// Options is what a Limiter needs beside its Backend. Cluster and Counters are required.
type Options struct {
	// Cluster says who decides: Redis or Postgres.
	Cluster Cluster
	// Counters are the durable counters in Postgres.
	Counters counter.Store
	// Log receives one line when Redis no longer decides, and one when it does again.
	Log zerolog.Logger
	// Timeout bounds one reply of Redis, DefaultTimeout by default.
	Timeout time.Duration
	// PingEvery is the pause between attempts to reach a lost Redis, 100 ms by default.
	PingEvery time.Duration
	// Instant returns the present instant where no request gives one; Clock by default.
	Instant func() time.Time
	// Wait is how long a request waits for a term to begin, beyond its wait for Redis: 250 ms by
	// default.
	Wait time.Duration

	// Tests that run step by step replace these; nil for the real ones.
	Clock func() time.Time
	Sleep func(time.Duration)
}

func (o *Options) setDefaults() {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.PingEvery <= 0 {
		o.PingEvery = 100 * time.Millisecond
	}
	if o.Wait == 0 {
		o.Wait = 250 * time.Millisecond
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Instant == nil {
		o.Instant = o.Clock
	}
	if o.Sleep == nil {
		o.Sleep = time.Sleep
	}
}

// bounded returns a context for one call to Redis. The call continues if the request's caller has
// gone; the client bounds each reply.
func (o *Options) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), CallTimeouts*o.Timeout)
}

// initTime is how long a tenant may be missing in Redis after Initialize, because the call that
// initializes Redis is still under way.
func (o *Options) initTime() time.Duration { return CallTimeouts * o.Timeout }

var (
	// errTermOver: the term ended before the reply came. The next one decides.
	errTermOver = errors.New("the term is over")
	// errNoTerm: no term began in time.
	errNoTerm = errors.New("no term has begun")
	// errStoreUnreachable: no term can begin.
	errStoreUnreachable = errors.New("no term can begin without Postgres")
)

// isTermOver reports whether an error means that the term does not decide any more.
func isTermOver(err error) bool {
	return errors.Is(err, errTermOver) || errors.Is(err, counter.ErrTermOver)
}
