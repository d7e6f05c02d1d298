package catalogue

import (
	"errors"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// together does what n requests of a tenant ask for. all does it with one statement and sets the
// outcomes, unless there is only one. If Postgres refuses it, each is tried alone. After any other
// error the outcome is the same for all, and may be unknown.
func together[T any](n int, all func([]catalog.Outcome[T]) error, try func(i int) (T, error)) []catalog.Outcome[T] {
	outcomes := make([]catalog.Outcome[T], n)
	if n > 1 {
		switch err := all(outcomes); {
		case err == nil:
			return outcomes
		case !isRefused(err):
			return allFailed(outcomes, err)
		}
	}
	return tryEach(outcomes, try)
}

// tryEach sets each outcome to what try returns, up to the first that says that Postgres is
// unavailable: further ones would wait as long, and are certainly not made.
func tryEach[T any](outcomes []catalog.Outcome[T], try func(i int) (T, error)) []catalog.Outcome[T] {
	for i := range outcomes {
		outcomes[i].Result, outcomes[i].Err = try(i)
		if err := outcomes[i].Err; errors.Is(err, pgconn.ErrUnavailable) {
			allFailed(outcomes[i+1:], notMade(err))
			break
		}
	}
	return outcomes
}

// isRefused reports whether Postgres refused a statement because of what it says, so that it has
// certainly had no effect.
func isRefused(err error) bool {
	return pgconn.IsServerError(err) && !errors.Is(err, pgconn.ErrUnavailable)
}

func allFailed[T any](outcomes []catalog.Outcome[T], err error) []catalog.Outcome[T] {
	for i := range outcomes {
		outcomes[i] = catalog.Outcome[T]{Err: err}
	}
	return outcomes
}
