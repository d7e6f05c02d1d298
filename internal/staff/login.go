package staff

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Role is a group role of persons.
type Role string

// The roles of persons, as they are typed. In Postgres they have the prefix petstore_.
const (
	Support Role = "support"
	Billing Role = "billing"
)

// Group is the role's name in Postgres.
func (r Role) Group() string { return "petstore_" + string(r) }

// Login is a role of Postgres with which a person connects.
type Login struct {
	// OID is its number in Postgres. It identifies the login's sessions after the login is removed.
	OID   int64
	Name  string
	Roles []Role
	// ExpiresAt is when the secret expires; zero for never. Client certificates still work after
	// that.
	ExpiresAt time.Time
	// Sessions is the number of its open sessions.
	Sessions int64
	// LastChangeAt is when the login made its last change, by the audit trail; zero for never.
	LastChangeAt time.Time
}

// Status is "active", or "expired" if the secret has expired.
func (l Login) Status(now time.Time) string {
	if !l.ExpiresAt.IsZero() && !now.Before(l.ExpiresAt) {
		return "expired"
	}
	return "active"
}

// RoleNames are the names of the roles.
func (l Login) RoleNames() []string {
	names := make([]string, len(l.Roles))
	for i, r := range l.Roles {
		names[i] = string(r)
	}
	return names
}

var (
	// ErrName: a login can't have this name.
	ErrName = errors.New("invalid name of a login")
	// ErrExists: Postgres has a role of this name.
	ErrExists = errors.New("a role of this name exists")
	// ErrNotFound: no login of a person has this name.
	ErrNotFound = errors.New("no such login")
	// ErrOwnLogin: an administrator can't remove the login of this connection.
	ErrOwnLogin = errors.New("it is your own login")
)

// PrivilegedError means that the login has more rights than support and billing. Whoever changes a
// login's secret could get its rights, so such a login is changed only by SQL.
type PrivilegedError struct{ Login, Excess string }

func (e PrivilegedError) Error() string {
	return fmt.Sprintf("login %s %s, so it is more than a login of support or billing", e.Login, e.Excess)
}

// OwnsError means that the login can't be removed, because it has objects or rights of its own on
// objects.
type OwnsError struct {
	Login, Database string
	Objects         int64
}

func (e OwnsError) Error() string {
	where := "the database " + e.Database
	if e.Database == "" {
		where = "the whole server"
	}
	return fmt.Sprintf("login %s owns objects, or has rights of its own on them: %d in %s", e.Login, e.Objects, where)
}

// CreateRole is the right to make roles. A login that has it is an administrator.
const CreateRole = "CREATEROLE"

// LacksRightError means that the login of this connection may not manage logins.
type LacksRightError struct {
	// Lacks is the missing right, Statement the SQL with which an administrator can grant it.
	Login, Lacks, Statement string
}

func (e LacksRightError) Error() string {
	return fmt.Sprintf("your login %s may not manage logins: it lacks %s", e.Login, e.Lacks)
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// CheckName returns ErrName unless a person's login can have the name. Names that begin with pg_ or
// petstore_ belong to roles.
func CheckName(name string) error {
	if !nameForm.MatchString(name) || strings.HasPrefix(name, "pg_") || strings.HasPrefix(name, "petstore_") ||
		name == "public" || name == "none" || name == "user" {
		return ErrName
	}
	return nil
}

// Subject is the subject of audit entries about the login.
func Subject(name string) string { return "login:" + name }
