package plans

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Errors of changes to the price list. Stores wrap them, so compare with errors.Is.
var (
	// ErrPlanName: the text can't be the name of a plan.
	ErrPlanName = errors.New("a plan's name is 1 to 63 characters of a-z, 0-9 and -, and does not begin with -")
	// ErrPlanExists: the name is taken.
	ErrPlanExists = errors.New("a plan with this name already exists")
	// ErrNoNumbers: numbers were given for a plan whose numbers are agreed with each tenant.
	ErrNoNumbers = errors.New("the plan has no numbers of its own")
	// ErrVersionPast: a version, or the end of sale, would begin in the past.
	ErrVersionPast = errors.New("that is in the past")
	// ErrVersionNotFound: the plan has no version with that number.
	ErrVersionNotFound = errors.New("no such version")
	// ErrVersionNotLast: only the last version is withdrawn.
	ErrVersionNotLast = errors.New("a later version is scheduled")
	// ErrVersionFirst: a plan keeps its first version.
	ErrVersionFirst = errors.New("a plan keeps its first version")
	// ErrVersionBegun: the version has begun, or begins within WithdrawMargin.
	ErrVersionBegun = errors.New("the version has begun")
	// ErrVersionFollowed: scheduled assignments follow the generation that the version begins.
	ErrVersionFollowed = errors.New("scheduled assignments follow the version")
	// ErrNotGrandfathered: the tenant to move already follows the plan's latest version.
	ErrNotGrandfathered = errors.New("the tenant follows the plan's latest version")
)

// VersionScheduledError is returned for a version that would begin before a scheduled one.
type VersionScheduledError struct{ Scheduled Version }

// Error implements error.
func (e VersionScheduledError) Error() string {
	return fmt.Sprintf(
		"version %d of plan %s begins at %s",
		e.Scheduled.Number,
		e.Scheduled.Plan,
		e.Scheduled.From.UTC().Format(time.RFC3339Nano),
	)
}

// WithdrawMargin is how long before its beginning a version must be withdrawn, so that all servers
// forget it before it begins.
const WithdrawMargin = 2 * time.Second

// NumbersError is returned for a version with invalid numbers.
type NumbersError struct{ Err error }

// Error implements error.
func (e NumbersError) Error() string { return e.Err.Error() }

// Unwrap returns what Quota.Validate found.
func (e NumbersError) Unwrap() error { return e.Err }

var planName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// CheckPlanName returns ErrPlanName for a text that can't be the name of a plan.
func CheckPlanName(name string) error {
	if !planName.MatchString(name) {
		return fmt.Errorf("name %.80q: %w", name, ErrPlanName)
	}
	return nil
}

// Version is the numbers of a plan from an instant on. A version that has begun is never changed.
type Version struct {
	Plan string
	// Number counts from 1. Generation is that of the version before, plus one if existing tenants
	// keep their numbers.
	Number, Generation int
	// Quota is nil for a plan whose numbers are agreed with each tenant.
	Quota *Quota
	From  time.Time
	// To is when the next version of the generation begins, zero for none.
	To        time.Time
	CreatedAt time.Time
	// CreatedBy is the login that made it.
	CreatedBy string
	// Tenants is the number of tenants that it binds now.
	Tenants int64
}

// VersionEdit is a change of a plan's numbers. Zeros stand for the numbers of the last version, and
// for the day's as Quota.DayUnder has it.
type VersionEdit struct {
	PerMinute, PerDay int64
	Month             Month
	// From is when the version begins; zero for now.
	From time.Time
	// KeepExisting begins a generation: tenants on the plan at that time keep their numbers.
	KeepExisting bool
}

// Next returns the version that the edit makes after the plan's last one; ok is false if the
// numbers are the same. The error is ErrNoNumbers, VersionScheduledError, ErrVersionPast or
// NumbersError.
func (e VersionEdit) Next(last Version, now time.Time) (next Version, ok bool, err error) {
	if last.Quota == nil {
		return Version{}, false, ErrNoNumbers
	}
	from := e.From
	if from.IsZero() {
		from = now
	}
	switch {
	case from.Before(now):
		return Version{}, false, ErrVersionPast
	case !from.After(last.From) && last.From.After(now):
		return Version{}, false, VersionScheduledError{last}
	}
	if from.Equal(last.From) {
		from = from.Add(time.Microsecond) // the resolution of Postgres
	}
	quota := *last.Quota
	if e.PerMinute != 0 {
		quota.PerMinute = e.PerMinute
	}
	quota.Month = e.Month.Over(quota.Month)
	quota.PerDay = cmp.Or(e.PerDay, last.Quota.DayUnder(quota.Month))
	if err := cmp.Or(quota.Validate(), quota.ValidateDay()); err != nil {
		return Version{}, false, NumbersError{err}
	}
	quota.Month = quota.Month.InForce()
	next = Version{Plan: last.Plan, Number: last.Number + 1, Generation: last.Generation, Quota: &quota, From: from}
	if e.KeepExisting {
		next.Generation++
	}
	return next, quota != *last.Quota, nil
}
