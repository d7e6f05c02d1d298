package plans

import (
	"context"

	"petstore.example/internal/fleet"
)

// Fleet is this server's part in the agreement on who decides: a *fleet.Member.
type Fleet interface {
	// Term returns the term in force; false between two terms, and when the lease has run out. It is called for every request.
	Term() (fleet.Term, bool)
	// Holds reports whether the term of that number is still in force.
	Holds(number int64) bool
	// Away reports whether no term can begin, because Postgres does not answer.
	Away() bool
	// Await waits until a term is in force.
	Await(ctx context.Context) (fleet.Term, error)
	// SetRedis says which Redis this server sees, "" for none.
	SetRedis(fingerprint string)
	// OnEnd has f called when a term has ended, before this server acknowledges the next: Holds says so already.
	OnEnd(f func(ctx context.Context, ended fleet.Term) error)
}

var _ Fleet = (*fleet.Member)(nil)
