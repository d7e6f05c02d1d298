package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox" // the environment of the tests
)

func TestErrorsWrap(t *testing.T) {
	t.Parallel()
	const message, hint = "a name has at most 63 characters of a-z, 0-9 and -, and begins with a letter",
		"see\nthe first of those that there are: petstorectl tenant list --limit 1"
	for terminal, want := range map[bool]string{
		false: "petstorectl: " + message + "\n" + hint + "\n",
		true: "petstorectl: a name has at most 63 characters of\na-z, 0-9 and -, and begins with a letter\nsee\n" +
			"the first of those that there are:\npetstorectl tenant list --limit 1\n",
	} {
		var stderr strings.Builder
		f := NewFactory(&IOStreams{ErrOut: &stderr, ErrTTY: terminal, Width: 50})
		if code := f.Report(
			t.Context(),
			UsageErrorf(message).WithHint(hint),
		); code != ExitUsage ||
			stderr.String() != want {
			t.Errorf("terminal %v: code %d:\n%s\nwant:\n%s", terminal, code, stderr.String(), want)
		}
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		nil: 0, errors.New("x"): 1, context.Canceled: 130, store.ErrUnavailable: 5, plans.ErrTenantNotFound: 3,
		keys.ErrTooManyKeys: 4, keys.ErrMalformed: 2, fmt.Errorf("a: %w", fmt.Errorf("b: %w", keys.ErrBanNotFound)): 3,
	} {
		assert.Equal(t, exitCode(err), want, err)
	}
}
