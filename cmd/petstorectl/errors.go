package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

// Exit codes. Scripts rely on them: they are never given another meaning.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitNotFound = 3
	exitRefused  = 4
	exitDatabase = 5
	// exitInterrupted is what shells make of a process that ^C ended.
	exitInterrupted = 130
)

// codes says which kind of failure each error is. The first match counts.
var codes = []struct {
	err  error
	code int
}{
	{context.Canceled, exitInterrupted},
	{store.ErrUnavailable, exitDatabase},
	{store.ErrMigrationLocked, exitDatabase},
	{store.ErrSchemaNewer, exitDatabase},
	{plans.ErrTenantNotFound, exitNotFound},
	{plans.ErrPlanNotFound, exitNotFound},
	{keys.ErrKeyNotFound, exitNotFound},
	{keys.ErrBanNotFound, exitNotFound},
	{plans.ErrTenantExists, exitRefused},
	{plans.ErrTenantSuspended, exitRefused},
	{plans.ErrTenantNotSuspended, exitRefused},
	{plans.ErrQuotaRequired, exitRefused},
	{plans.ErrQuotaFixed, exitRefused},
	{keys.ErrTooManyKeys, exitRefused},
	{keys.ErrKeyRevoked, exitRefused},
	{keys.ErrKeyExpired, exitRefused},
	{plans.ErrTenantName, exitUsage},
	{keys.ErrKeyName, exitUsage},
	{keys.ErrPerMinute, exitUsage},
	{keys.ErrExpiryPast, exitUsage},
	{keys.ErrTextHoldsKey, exitUsage},
	{keys.ErrMalformed, exitUsage},
}

// problem is an error in words for the person at the keyboard.
type problem struct {
	code    int
	message string
	// hint says what to do next; it may be empty.
	hint  string
	cause error
}

func (p *problem) Error() string {
	if p.cause != nil {
		return p.message + ": " + p.cause.Error()
	}
	return p.message
}

func (p *problem) Unwrap() error { return p.cause }

func (p *problem) withHint(hint string) *problem {
	p.hint = hint
	return p
}

func usageProblem(format string, args ...any) *problem {
	return &problem{code: exitUsage, message: fmt.Sprintf(format, args...)}
}

// codeOf returns the exit code of an error that is no problem with a code of its own.
func codeOf(err error) int {
	if err == nil {
		return exitOK
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	if pq.As(err) != nil || errors.As(err, &store.DirtyError{}) {
		return exitDatabase
	}
	return exitFailed
}

// report tells on stderr what went wrong and returns the exit code.
func (f *factory) report(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil {
		f.streams.say("petstorectl: interrupted")
		return exitInterrupted
	}
	code, hint := codeOf(err), ""
	if p := (*problem)(nil); errors.As(err, &p) {
		code, hint = p.code, p.hint
	}
	if pq.As(err, pqerror.UndefinedTable) != nil {
		hint = "the database is not migrated; run: petstorectl migrate up"
	}
	f.streams.say("petstorectl: %s", f.redact(cleanCell(err.Error())))
	if hint != "" {
		f.streams.say("%s", f.redact(strings.TrimSpace(hint)))
	}
	return code
}
