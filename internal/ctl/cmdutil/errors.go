package cmdutil

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"petstore.example/internal/advice"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

// Exit codes. Scripts rely on them: a code never gets another meaning.
const (
	ExitOK       = 0
	ExitFailed   = 1
	ExitUsage    = 2
	ExitNotFound = 3
	ExitRefused  = 4
	ExitDatabase = 5
	// ExitUnknown: the reply to a commit was lost.
	ExitUnknown = 6
	// ExitInterrupted is the code that shells use for ^C.
	ExitInterrupted = 130
	// ExitNoReader is the code that shells report for a program that SIGPIPE ends.
	ExitNoReader = 141
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

// RefusedErrorf is the error of a change that a rule does not allow.
func RefusedErrorf(format string, args ...any) *Error {
	return &Error{Code: ExitRefused, Message: fmt.Sprintf(format, args...)}
}

// NotFoundErrorf is the error of something that does not exist.
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
	if store.IsServerError(err) {
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
	e := (*Error)(nil)
	if errors.As(err, &e); ctx.Err() != nil && (e == nil || e.Code != ExitUnknown) {
		reportError(f, ExitInterrupted, "interrupted", "")
		return ExitInterrupted
	}
	if f.IsOutError(err) && e == nil {
		if !f.Changes && errors.Is(err, syscall.EPIPE) {
			return ExitNoReader // such as head, which has read enough
		}
		if f.Changes {
			err = fmt.Errorf("the change was made, but not all of its result was written: %w", err)
		}
	}
	code, hint := exitCode(err), advice.OnStatement(err)
	if e != nil {
		code, hint = e.Code, e.Hint
	}
	if store.IsNotMigrated(err) {
		hint = "the database lacks migrations of this release; run: petstorectl migrate up"
	}
	reportError(f, code, output.Clean(err.Error()), strings.TrimSpace(hint))
	return code
}

// seeAfter says how to find out whether a change was made, by its command or noun. For other
// commands, the audit trail shows it.
var seeAfter = map[string]string{
	"key issue":     "see: petstorectl audit list --since 10m; a key that was not printed is of no use: revoke it",
	"key rotate":    "see: petstorectl audit list --since 10m; a key that was not printed is of no use: rotate it",
	"migrate":       "see: petstorectl migrate status",
	"plan":          "see: petstorectl plan list, and petstorectl plan history TENANT",
	"retention run": "run the command again: it removes what is left",
	"staff":         "see: petstorectl staff list; a secret that was not printed is of no use: rotate it",
	"usage close":   "run the command again: it says whether the month is closed",
	"usage forget":  "see: petstorectl doctor, or run the command again",
	"usage hand-on": "run the command again: it goes on where this one ended",
	"usage resend":  "run usage hand-on, which sends what was moved; with --dry-run resend shows what is left",
	"usage waive":   "see: petstorectl tenant show, or run the command again",
	"usage events": "what was written may be recorded as sent, and then no other run writes it: send it; " +
		"what is sent twice counts once",
}

// ExplainUnknown returns the Error for a change that may have been made. Other errors are
// unchanged.
func (f *Factory) ExplainUnknown(err error) error {
	if !errors.Is(err, store.ErrOutcomeUnknown) {
		return err
	}
	noun, _, _ := strings.Cut(f.Command, " ")
	return &Error{
		Code:    ExitUnknown,
		Message: "the reply of the database was lost: the change may have been made",
		Hint:    cmp.Or(seeAfter[f.Command], seeAfter[noun], "see: petstorectl audit list --since 10m"),
	}
}

// codeNames are the exit codes' names in an error as JSON.
var codeNames = map[int]string{
	ExitFailed:      "failed",
	ExitUsage:       "usage",
	ExitNotFound:    "not_found",
	ExitRefused:     "refused",
	ExitDatabase:    "database",
	ExitUnknown:     "unknown",
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
