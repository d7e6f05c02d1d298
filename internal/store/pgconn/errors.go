package pgconn

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

// ErrUnavailable: Postgres can't be reached, is starting or stopping, has no free connection, did
// not answer in time, or ended a transaction in favor of another. A missing right of the API means
// it too: its rights are known to suffice, so the database is being restored. It is also each
// domain package's error of the same name.
var ErrUnavailable = errors.New("database unavailable")

// ErrOutcomeUnknown: a commit was sent, and its reply was lost. It may or may not have taken
// effect.
var ErrOutcomeUnknown = errors.New("the reply to the commit was lost")

type outcomeUnknownError struct{ cause error }

func (e outcomeUnknownError) Error() string {
	return ErrOutcomeUnknown.Error() + ": " + e.cause.Error()
}

func (e outcomeUnknownError) Unwrap() error { return e.cause }

func (e outcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

// CommitError turns the error of a commit that was sent into ErrOutcomeUnknown, unless Postgres has
// answered. Only an error that does not end the connection says for certain that nothing was
// committed.
func CommitError(err error) error {
	if e := pq.As(err); err == nil || e != nil && e.Severity == "ERROR" || errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return outcomeUnknownError{err}
}

type unavailableError struct{ cause error }

func (e unavailableError) Error() string { return ErrUnavailable.Error() + ": " + e.cause.Error() }

func (e unavailableError) Unwrap() error { return e.cause }

func (e unavailableError) Is(target error) bool {
	switch target {
	case ErrUnavailable, keys.ErrUnavailable, catalog.ErrUnavailable, usage.ErrUnavailable:
		return true
	}
	return false
}

// NeverMigratedError means that no migration was applied to the database.
type NeverMigratedError struct{ Database string }

func (e NeverMigratedError) Error() string {
	return fmt.Sprintf("the database %q was never migrated; run: petstorectl migrate up", e.Database)
}

// NewNeverMigratedError returns the error for the database of a URL that Open can read.
func NewNeverMigratedError(databaseURL string) error {
	_, cfg, err := ReadConfig(databaseURL)
	if err != nil {
		return err
	}
	return NeverMigratedError{databaseOf(cfg)}
}

// databaseOf returns the database that Postgres connects to.
func databaseOf(cfg pq.Config) string { return cmp.Or(cfg.Database, cfg.User) }

// NotMemberError means that a login may not work as petstore_api.
type NotMemberError struct{ Login string }

func (e NotMemberError) Error() string {
	return fmt.Sprintf("login %q is not a member of %s; an administrator must run in SQL: grant %[2]s to %[3]s",
		e.Login, APIRole, pq.QuoteIdentifier(e.Login))
}

// Translate marks the driver's errors that mean "not now" as ErrUnavailable. Other errors, such as
// sql.ErrNoRows, are unchanged. The text of a Postgres error is its message and code, without its
// detail, which holds values of rows.
func Translate(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) || errors.Is(err, ErrUnavailable) ||
		errors.Is(err, context.Canceled) {
		return err
	}
	if e := pq.As(err); e != nil {
		if isUnavailable(e) {
			return unavailableError{err}
		}
		return err
	}
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, driver.ErrBadConn),
		errors.Is(err, sql.ErrConnDone),
		// database/sql rolled the transaction back at the end of its time.
		errors.Is(err, sql.ErrTxDone),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed),
		errors.As(err, &network):
		return unavailableError{err}
	}
	return err
}

// translateIn is Translate for work bounded by ctx. If ctx is canceled during the work, the
// driver's error depends on chance, so an ErrUnavailable then is context.Canceled too, which does
// not look like an outage.
func translateIn(ctx context.Context, err error) error {
	err = Translate(err)
	if errors.Is(err, ErrUnavailable) && errors.Is(ctx.Err(), context.Canceled) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", context.Canceled, err)
	}
	return err
}

func isUnavailable(e *pq.Error) bool {
	switch e.Code.Class() {
	case pqerror.ClassConnectionException, pqerror.ClassInsufficientResources, pqerror.ClassOperatorIntervention,
		pqerror.ClassInvalidAuthorizationSpecification, pqerror.ClassSystemError,
		// In a deadlock or the like, Postgres chose to end this transaction; it would pass the next
		// time.
		pqerror.ClassTransactionRollback:
		return true
	}
	switch e.Code {
	case pqerror.ReadOnlySQLTransaction, pqerror.LockNotAvailable, pqerror.InvalidCatalogName,
		pqerror.IdleInTransactionSessionTimeout:
		return true
	}
	return false
}

// Two of the Reasons: a full disk, and a standby or a frozen database.
const (
	DiskFull = "disk_full"
	ReadOnly = "read_only"
)

// Reasons are all results of Reason. A Postgres that is starting may also be recovering, or
// stopping.
var Reasons = []string{DiskFull, ReadOnly, "connections_full", "starting", "slow", "timed_out", "unreachable", "other"}

// Reason returns why an error is ErrUnavailable.
func Reason(err error) string {
	var network net.Error
	switch {
	case isReadOnly(err):
		return ReadOnly
	case pq.As(err, pqerror.DiskFull) != nil:
		return DiskFull
	case pq.As(err, pqerror.TooManyConnections) != nil:
		return "connections_full"
	case pq.As(err, pqerror.CannotConnectNow, pqerror.AdminShutdown, pqerror.CrashShutdown) != nil:
		return "starting"
	case errors.Is(err, errBusy):
		return "slow"
	case errors.Is(err, context.DeadlineExceeded),
		pq.As(err, pqerror.QueryCanceled) != nil,
		errors.As(err, &network) && network.Timeout():
		return "timed_out"
	case IsServerError(err):
		return "other"
	}
	return "unreachable"
}

func isReadOnly(err error) bool {
	return errors.Is(err, errReadOnly) || pq.As(err, pqerror.ReadOnlySQLTransaction) != nil
}

// IsServerError reports whether Postgres reported the error.
func IsServerError(err error) bool { return pq.As(err) != nil }

// IsNotMigrated reports whether a table or a column is missing.
func IsNotMigrated(err error) bool {
	return pq.As(err, pqerror.UndefinedTable, pqerror.UndefinedColumn, pqerror.UndefinedFunction) != nil
}

// isBeingRestored reports whether a statement of the API lacks something that every statement
// needs. A dump that is being restored brings back tables, rights and indexes one by one.
func isBeingRestored(err error) bool {
	return IsNotMigrated(err) || IsForbidden(err) ||
		pq.As(err, pqerror.InvalidColumnReference, pqerror.InternalError) != nil
}

// IsForbidden reports whether the login lacks a right that the statement, or the connection itself,
// needs.
func IsForbidden(err error) bool { return pq.As(err, pqerror.InsufficientPrivilege) != nil }

// IsPasswordRefused reports whether Postgres refused the login's password because it is wrong,
// expired or missing.
func IsPasswordRefused(err error) bool { return pq.As(err, pqerror.InvalidPassword) != nil }

// IsConstraint reports whether the error is a violation of the constraint with the name.
func IsConstraint(err error, name string) bool {
	e := pq.As(err)
	return e != nil && e.Code.Class() == pqerror.ClassIntegrityConstraintViolation && e.Constraint == name
}

// Meaning adds to the error what the violated constraint means, by the constraint's name.
func Meaning(err error, meanings map[string]error) error {
	if e := pq.As(err); e != nil && meanings[e.Constraint] != nil && IsConstraint(err, e.Constraint) {
		return errors.Join(meanings[e.Constraint], err)
	}
	return err
}
