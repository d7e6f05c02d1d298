package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	_ "petstore.example/internal/test/sandbox" // the environment of the tests
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		nil: 0, errors.New("x"): 1, context.Canceled: 130, store.ErrUnavailable: 5, plans.ErrTenantNotFound: 3,
		keys.ErrTooManyKeys: 4, keys.ErrMalformed: 2, fmt.Errorf("a: %w", fmt.Errorf("b: %w", keys.ErrBanNotFound)): 3,
	} {
		if got := exitCode(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
