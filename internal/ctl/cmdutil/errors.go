package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"petstore.example/internal/advice"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/migrate"
)

// Exit codes. Scripts rely on them: a code never gets another meaning.
const (
	ExitOK       = 0
	ExitFailed   = 1
	ExitUsage    = 2
	ExitNotFound = 3
	ExitRefused  = 4
	ExitDatabase = 5
	// ExitInterrupted is the code that shells use for ^C.
	ExitInterrupted = 130
)

// Error is an error with an exit code and a message for the user.
type Error struct {
	Code    int
	Message string
	// Hint says what to do next; it may be empty.
	Hint  string
	Cause error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// WithHint sets the hint.
func (e *Error) WithHint(hint string) *Error {
	e.Hint = hint
	return e
}

// UsageErrorf is the error of a wrong command line or input.
func UsageErrorf(format string, args ...any) *Error {
	return &Error{Code: ExitUsage, Message: fmt.Sprintf(format, args...)}
}

// RefusedErrorf is the error of what a rule does not allow.
func RefusedErrorf(format string, args ...any) *Error {
	return &Error{Code: ExitRefused, Message: fmt.Sprintf(format, args...)}
}

// NotFoundErrorf is the error of what does not exist.
func NotFoundErrorf(format string, args ...any) *Error {
	return &Error{Code: ExitNotFound, Message: fmt.Sprintf(format, args...)}
}

// exitCode returns the exit code of an error that is not an Error.
func exitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	if d := findDomainError(err); d != nil {
		return d.code
	}
	if errors.As(err, &output.ColumnError{}) {
		return ExitUsage
	}
	if store.IsServerError(err) || errors.As(err, &migrate.DirtyError{}) {
		return ExitDatabase
	}
	return ExitFailed
}

// IsInterrupted tells whether the error is an interruption by the user.
func IsInterrupted(err error) bool { return exitCode(err) == ExitInterrupted }

// Report prints an error to stderr and returns the exit code.
func (f *Factory) Report(ctx context.Context, err error) int {
	if err == nil {
		return ExitOK
	}
	if ctx.Err() != nil {
		reportError(f, ExitInterrupted, "interrupted", "")
		return ExitInterrupted
	}
	code, hint := exitCode(err), advice.OnStatement(err)
	if e := (*Error)(nil); errors.As(err, &e) {
		code, hint = e.Code, e.Hint
	}
	if store.IsNotMigrated(err) {
		hint = "the database lacks migrations of this release; run: petstorectl migrate up"
	}
	reportError(f, code, output.Clean(err.Error()), strings.TrimSpace(hint))
	return code
}

// codeNames are the exit codes' names in an error as JSON.
var codeNames = map[int]string{
	ExitFailed:      "failed",
	ExitUsage:       "usage",
	ExitNotFound:    "not_found",
	ExitRefused:     "refused",
	ExitDatabase:    "database",
	ExitInterrupted: "interrupted",
}

// errorView is the member "error" of an error as JSON.
var errorView = output.View[*Error]{
	{Name: "code", Value: func(e *Error) any { return codeNames[e.Code] }},
	{Name: "exit_code", Value: func(e *Error) any { return int64(e.Code) }},
	{Name: "message", Value: func(e *Error) any { return e.Message }},
	{Name: "hint", Value: func(e *Error) any { return e.Hint }},
}

func reportError(f *Factory, code int, message, hint string) {
	if f.JSONErrors {
		_, _ = fmt.Fprintf(
			f.ErrOut,
			"{\"error\":%s}\n",
			output.ItemJSON(errorView, &Error{Code: code, Message: message, Hint: hint}),
		)
		return
	}
	f.Messagef("%s", strings.TrimSuffix("petstorectl: "+message+"\n"+hint, "\n"))
}
