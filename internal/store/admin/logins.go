package admin

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"petstore.example/internal/store/pgconn"
)

// Login is a role of Postgres, with its rights in this database.
type Login struct {
	Name      string
	Superuser bool
	// BypassRLS says that row-level security hides nothing from it.
	BypassRLS bool `db:"bypass_rls"`
	// Owner says that it owns tables or views, or is a member of a role that does.
	Owner bool
	// API, Support and Billing say which group roles it is a member of. A superuser is a member of
	// all that exist.
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

// Excess returns the rights of the login beyond a server's needs, or "".
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

// selectLogin names the group roles as text, because they may not exist yet. Everybody can read the
// catalogs.
const selectLogin = `
	select r.rolname as name, r.rolsuper as superuser, r.rolbypassrls as bypass_rls,
	       exists (
	         select from pg_class c join pg_namespace n on n.oid = c.relnamespace
	         where c.relkind in ('r', 'p', 'v') and n.nspname = current_schema() and pg_has_role(r.oid, c.relowner,
	             'member')
	       ) as owner,
	       exists (select from pg_roles g where g.rolname = 'petstore_api' and pg_has_role(r.oid, g.oid, 'member')) as
	           api,
	       exists (select from pg_roles g where g.rolname = 'petstore_support' and pg_has_role(r.oid, g.oid,
	           'member')) as support,
	       exists (select from pg_roles g where g.rolname = 'petstore_billing' and pg_has_role(r.oid, g.oid,
	           'member')) as billing
	from pg_roles r`

// ServerLogin returns the login of the connections, and the role in which they work.
func (d Admin) ServerLogin(ctx context.Context) (login Login, role string, err error) {
	defer pgconn.Wrap(&err, "read the login")
	row := struct {
		Login
		Role string
	}{}
	err = d.db.Get(ctx, &row, `select l.*, current_user as role from (`+selectLogin+`) l where l.name = session_user`)
	return row.Login, row.Role, err
}

// ServerLogins returns the logins of the servers connected to the database, by name.
func (d Admin) ServerLogins(ctx context.Context) (logins []Login, err error) {
	defer pgconn.Wrap(&err, "list the logins of servers")
	err = d.db.Select(ctx, &logins, selectLogin+`
		where r.oid in (
		  select a.usesysid from pg_stat_activity a where a.datname = current_database() and a.application_name = $1
		)
		order by r.rolname`, pgconn.APIRole)
	return logins, err
}

// Session is a connection as Postgres sees it.
type Session struct {
	Login
	Database, ServerVersion string
	// TLS is the version of TLS, empty without TLS. Certificate is the name in the client's
	// certificate, empty if there is none.
	TLS, Certificate string
	// ExpiresAt is when the login's secret expires; zero for never.
	ExpiresAt time.Time
}

// Session returns this connection's session.
func (d Admin) Session(ctx context.Context) (_ Session, err error) {
	defer pgconn.Wrap(&err, "read the session")
	var row struct {
		Login
		Database, Version, TLS, Certificate string
		ExpiresAt                           sql.NullTime `db:"expires_at"`
	}
	err = d.db.Get(ctx, &row, `
		select l.*, current_database()::text as database, split_part(current_setting('server_version'), ' ', 1) as
			version,
		       coalesce(s.version, '') as tls, coalesce(s.client_dn, '') as certificate, nullif(r.rolvaliduntil,
		           'infinity') as expires_at
		from (`+selectLogin+`) l
		join pg_roles r on r.rolname = l.name
		left join pg_stat_ssl s on s.pid = pg_backend_pid()
		where l.name = session_user`)
	return Session{row.Login, row.Database, row.Version, row.TLS, row.Certificate, pgconn.TimeOf(row.ExpiresAt)}, err
}

// Checkup is what petstorectl doctor asks the database.
type Checkup struct {
	// Version is Postgres's, for example "15.8".
	Version string
	// Role is the current role.
	Role Login
	// Now is the database's clock.
	Now time.Time
}

// Checkup queries the database.
func (d Admin) Checkup(ctx context.Context) (_ Checkup, err error) {
	defer pgconn.Wrap(&err, "check up")
	var row struct {
		Login
		Version string
		Now     time.Time
	}
	err = d.db.Get(ctx, &row, `
		select split_part(current_setting('server_version'), ' ', 1) as version, clock_timestamp() as now, l.*
		from (`+selectLogin+`) l where l.name = current_user`)
	return Checkup{row.Version, row.Login, row.Now}, err
}

// Catalogues counts the animals of the tenants that last sent requests.
type Catalogues struct {
	// Tenants is the number of tenants looked at, Empty how many of them have no animals.
	Tenants, Empty int64
	// Ever says whether any tenant had an animal at any time.
	Ever bool
}

// Missing reports whether the animals are probably lost: nine of ten tenants have none, and animals
// are removed only with their tenant. Many tenants that only look around have never had one.
func (c Catalogues) Missing() bool { return c.Ever && 10*c.Empty > 9*c.Tenants }

// cataloguesChecked is the number of tenants that Catalogues looks at, which takes a few
// milliseconds.
const cataloguesChecked = 200

// Catalogues looks for animals of the tenants that last sent requests.
func (d Admin) Catalogues(ctx context.Context) (c Catalogues, err error) {
	defer pgconn.Wrap(&err, "look for animals")
	err = d.db.Get(ctx, &c, `select tenants, empty, ever from count_catalogues($1)`, cataloguesChecked)
	return c, err
}
