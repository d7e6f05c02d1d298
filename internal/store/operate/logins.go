package operate

import (
	"context"
	"strings"

	"petstore.example/internal/store/pgconn"
)

// Login is a role of Postgres, and what it may do in this database.
type Login struct {
	Name      string
	Superuser bool
	// BypassRLS: row-level security hides nothing from it.
	BypassRLS bool `db:"bypass_rls"`
	// Owner: it owns tables or views, or is a member of a role that does.
	Owner bool
	// API, Support and Billing say of which of the group roles it is a member. A superuser is one of all that exist.
	API, Support, Billing bool
}

// The group roles of persons.
const (
	SupportRole = pgconn.SupportRole
	BillingRole = pgconn.BillingRole
)

// Roles returns the group roles that the login is a member of.
func (l Login) Roles() (roles []string) {
	for _, m := range []struct {
		is   bool
		role string
	}{{l.API, pgconn.APIRole}, {l.Billing, BillingRole}, {l.Support, SupportRole}} {
		if m.is {
			roles = append(roles, m.role)
		}
	}
	return roles
}

// LoginOf returns the user that a database URL names, "" if it names none.
func LoginOf(url string) string { return pgconn.LoginOf(url) }

// Excess returns what the login may do beyond what a server needs, or "".
func (l Login) Excess() string {
	if l.Superuser {
		return "is a superuser"
	}
	var more []string
	for _, m := range []struct {
		is   bool
		text string
	}{
		{l.Owner, "owns the tables"}, {l.BypassRLS, "bypasses row-level security"},
		{l.Support, "is a member of petstore_support"}, {l.Billing, "is a member of petstore_billing"},
	} {
		if m.is {
			more = append(more, m.text)
		}
	}
	return strings.Join(more, " and ")
}

// selectLogin names the group roles that may not exist yet by text. Catalogs are readable by everybody.
const selectLogin = `
	select r.rolname as name, r.rolsuper as superuser, r.rolbypassrls as bypass_rls,
	       exists (
	         select from pg_class c join pg_namespace n on n.oid = c.relnamespace
	         where c.relkind in ('r', 'p', 'v') and n.nspname = current_schema() and pg_has_role(r.oid, c.relowner, 'member')
	       ) as owner,
	       exists (select from pg_roles g where g.rolname = 'petstore_api' and pg_has_role(r.oid, g.oid, 'member')) as api,
	       exists (select from pg_roles g where g.rolname = 'petstore_support' and pg_has_role(r.oid, g.oid, 'member')) as support,
	       exists (select from pg_roles g where g.rolname = 'petstore_billing' and pg_has_role(r.oid, g.oid, 'member')) as billing
	from pg_roles r`

// ServerLogin returns the login of the connections, and the role in which they work.
func (d Operate) ServerLogin(ctx context.Context) (login Login, role string, err error) {
	defer pgconn.Wrap(&err, "read the login")
	row := struct {
		Login
		Role string
	}{}
	err = d.db.Get(ctx, &row, `select l.*, current_user as role from (`+selectLogin+`) l where l.name = session_user`)
	return row.Login, row.Role, err
}

// ServerLogins returns the logins of the servers that are connected to the database, by name.
func (d Operate) ServerLogins(ctx context.Context) (logins []Login, err error) {
	defer pgconn.Wrap(&err, "list the logins of servers")
	err = d.db.Select(ctx, &logins, selectLogin+`
		where r.oid in (
		  select a.usesysid from pg_stat_activity a where a.datname = current_database() and a.application_name = $1
		)
		order by r.rolname`, pgconn.APIRole)
	return logins, err
}
