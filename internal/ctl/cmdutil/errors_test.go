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
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://jo:s3cret@h/db", "postgres://jo:s3cret@h:port/db", "postgresql://:s3cret@/db?host=/run",
		"postgres://jo@h/db?password=s3cret&sslmode=disable", "host=h password=s3cret user=jo", "password = 's3cret' host=h",
		"postgres://jo:s3cret@[::1/db", "postgres://jo:s3cret%zz@h/db",
	} {
		f := &DatabaseFinder{passwords: passwordsIn(dsn)}
		if got := f.Redact("can't read " + dsn); strings.Contains(got, "s3cret") {
			t.Errorf("%q", got)
		}
	}
	f := &DatabaseFinder{passwords: passwordsIn("postgres://jo:p%40ss%2Fword@h/db")}
	if got := f.Redact("p@ss/word p%40ss%2Fword"); got != "… …" {
		t.Errorf("%q", got)
	}
}

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
