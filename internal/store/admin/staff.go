package admin

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/staff"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
)

// Staff manages the logins of persons. Postgres itself decides who may do it: a login that may make
// roles.
type Staff struct{ db *pgconn.DB }

// NewLogin is a login to add, with the verifier of its secret.
type NewLogin struct {
	Name      string
	Role      staff.Role
	Verifier  string
	ExpiresAt time.Time
}

// Add makes a login in a role. It returns staff.ErrName, staff.ErrExists or a
// staff.LacksRightError.
func (s Staff) Add(ctx context.Context, by audit.By, n NewLogin) (added staff.Login, err error) {
	defer pgconn.Wrap(&err, "add login "+n.Name)
	if err := staff.CheckName(n.Name); err != nil {
		return added, err
	}
	err = trail.Change(ctx, s.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		if err := checkMayManage(ctx, tx, n.Role.Group()); err != nil {
			return err
		}
		var exists bool
		if err := tx.Get(ctx, &exists, `select exists (select from pg_roles where rolname = $1)`, n.Name); err != nil {
			return err
		}
		if exists {
			return staff.ErrExists
		}
		_, err := tx.Exec(ctx, `create role `+pq.QuoteIdentifier(n.Name)+` login`+password(n.Verifier, n.ExpiresAt)+
			` in role `+pq.QuoteIdentifier(n.Role.Group())+`;`)
		if err != nil {
			return err
		}
		row, err := getStaff(ctx, tx, n.Name)
		if err != nil {
			return err
		}
		added = row.login()
		return trail.Write(
			tx,
			by,
			trail.Entry{Action: "staff.add", Subject: staff.Subject(n.Name), After: recordLogin(added, true)},
		)
	})
	return added, err
}

// Rotate gives a login another secret. Its sessions go on (see EndSessions). It returns
// staff.ErrNotFound, a staff.PrivilegedError or a staff.LacksRightError.
func (s Staff) Rotate(
	ctx context.Context,
	by audit.By,
	name, verifier string,
	expiresAt time.Time,
) (after staff.Login, err error) {
	defer pgconn.Wrap(&err, "rotate the secret of login "+name)
	err = trail.Change(ctx, s.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		before, err := getManaged(ctx, tx, name)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(
			ctx,
			`alter role `+pq.QuoteIdentifier(name)+password(verifier, expiresAt)+`;`,
		); err != nil {
			return err
		}
		row, err := getStaff(ctx, tx, name)
		if err != nil {
			return err
		}
		after = row.login()
		return trail.Write(tx, by, trail.Entry{
			Action:  "staff.rotate",
			Subject: staff.Subject(name),
			Before:  recordLogin(before.login(), false),
			After:   recordLogin(after, true),
		})
	})
	return after, err
}

// Remove removes a login, and returns it as it was. Its sessions go on (see EndSessions). It
// returns staff.ErrNotFound, staff.ErrOwnLogin, a staff.OwnsError, a staff.PrivilegedError or a
// staff.LacksRightError.
func (s Staff) Remove(ctx context.Context, by audit.By, name string) (removed staff.Login, err error) {
	defer pgconn.Wrap(&err, "remove login "+name)
	err = trail.Change(ctx, s.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		before, err := getManaged(ctx, tx, name)
		if err != nil {
			return err
		}
		if before.Own {
			return staff.ErrOwnLogin
		}
		if err := checkOwnsNothing(ctx, tx, before); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `drop role `+pq.QuoteIdentifier(name)+`;`); err != nil {
			return err
		}
		removed = before.login()
		return trail.Write(
			tx,
			by,
			trail.Entry{Action: "staff.remove", Subject: staff.Subject(name), Before: recordLogin(removed, false)},
		)
	})
	return removed, err
}

// List returns the logins of persons by name, with their last changes.
func (s Staff) List(ctx context.Context) (list []staff.Login, err error) {
	defer pgconn.Wrap(&err, "list logins")
	return pgconn.Collect(ctx, s.db, staffRow.login, `
		select s.*, e.at as last_change_at
		from (`+selectStaff+`) s
		left join lateral (
		  -- Only one index has this order. Without the login in it, the search of a login without entries may read
		  -- all of them by their times.
		  select a.at from audit_entries a where a.login >= s.name collate "default" and a.login <= s.name collate
		      "default"
		  order by a.login desc, a.at desc, a.number desc limit 1
		) e on true
		order by s.name`)
}

// WithPrefix returns at most limit logins whose names begin with the prefix, by name and without
// their last changes.
func (s Staff) WithPrefix(ctx context.Context, prefix string, limit int) (list []staff.Login, err error) {
	defer pgconn.Wrap(&err, "list logins")
	return pgconn.Collect(ctx, s.db, staffRow.login, `
		select * from (`+selectStaff+`) s where starts_with(s.name, $1) order by s.name limit $2`, prefix, limit)
}

// staffRow is a login of a person as selectStaff reads it.
type staffRow struct {
	OID              int64
	Name             string
	Support, Billing bool
	Excess           string
	Own              bool
	ExpiresAt        sql.NullTime `db:"expires_at"`
	Sessions         int64
	LastChangeAt     sql.NullTime `db:"last_change_at"`
}

// selectStaff reads the logins in petstore_support or petstore_billing. A superuser is a member of
// all roles, but not a person of staff. Everybody can read these catalogs, and see who has which
// sessions.
const selectStaff = `
	select r.oid::bigint as oid, r.rolname::text as name,
	       exists (select from pg_roles g where g.rolname = 'petstore_support' and pg_has_role(r.oid, g.oid,
	           'member')) as support,
	       exists (select from pg_roles g where g.rolname = 'petstore_billing' and pg_has_role(r.oid, g.oid,
	           'member')) as billing,
	       concat_ws(' and ',
	         case when r.rolcreaterole then 'may make roles' end,
	         case when r.rolbypassrls then 'bypasses row-level security' end,
	         case when r.rolreplication then 'may replicate' end,
	         case when exists (select from pg_roles g where g.rolname = 'petstore_api' and pg_has_role(r.oid, g.oid,
	             'member'))
	           then 'is in the role petstore_api' end,
	         case when exists (
	           select from pg_class c where c.relkind in ('r', 'p', 'v') and c.relnamespace =
	               current_schema()::regnamespace
	           and pg_has_role(r.oid, c.relowner, 'member')) then 'owns tables' end) as excess,
	       r.rolname = session_user as own, nullif(r.rolvaliduntil, 'infinity') as expires_at,
	       (select count(*) from pg_stat_activity a where a.usesysid = r.oid) as sessions
	from pg_roles r
	where r.rolcanlogin and not r.rolsuper and exists (
	  select from pg_roles g where g.rolname in ('petstore_support', 'petstore_billing') and pg_has_role(r.oid, g.oid,
	      'member'))`

func (r staffRow) login() staff.Login {
	l := staff.Login{
		OID:          r.OID,
		Name:         r.Name,
		ExpiresAt:    pgconn.TimeOf(r.ExpiresAt),
		Sessions:     r.Sessions,
		LastChangeAt: pgconn.TimeOf(r.LastChangeAt),
	}
	if r.Support {
		l.Roles = append(l.Roles, staff.Support)
	}
	if r.Billing {
		l.Roles = append(l.Roles, staff.Billing)
	}
	return l
}

func getStaff(ctx context.Context, q pgconn.Queryer, name string) (row staffRow, err error) {
	err = pgconn.GetOr(ctx, q, &row, staff.ErrNotFound, `select * from (`+selectStaff+`) s where s.name = $1`, name)
	return row, err
}

// getManaged returns a login that this one may manage.
func getManaged(ctx context.Context, tx pgconn.Tx, name string) (staffRow, error) {
	if err := checkMayManage(ctx, tx, ""); err != nil {
		return staffRow{}, err
	}
	row, err := getStaff(ctx, tx, name)
	if err == nil && row.Excess != "" {
		err = staff.PrivilegedError{Login: name, Excess: row.Excess}
	}
	return row, err
}

// checkMayManage returns a staff.LacksRightError unless this login may make roles, grant the group
// (if one is given), write the audit entry, and end sessions.
func checkMayManage(ctx context.Context, tx pgconn.Tx, group string) error {
	var own struct {
		Name                  string
		Create, Grant, Signal bool
		Audit                 bool
	}
	err := tx.Get(ctx, &own, `
		select r.rolname as name, r.rolsuper or r.rolcreaterole as create, pg_has_role('pg_signal_backend', 'usage')
			as signal,
		       has_any_column_privilege('audit_entries', 'insert') as audit,
		       r.rolsuper or $1 = '' or current_setting('server_version_num')::int < 160000
		         or (select pg_has_role(g.oid, 'member with admin option') from pg_roles g where g.rolname = $1) as
		             grant
		from pg_roles r where r.rolname = session_user`, group)
	login := pq.QuoteIdentifier(own.Name)
	switch {
	case err != nil:
		return err
	case !own.Create:
		return staff.LacksRightError{
			Login:     own.Name,
			Lacks:     staff.CreateRole,
			Statement: "alter role " + login + " createrole",
		}
	case !own.Grant:
		return staff.LacksRightError{
			Login:     own.Name,
			Lacks:     "the right to grant " + group,
			Statement: "grant " + group + " to " + login + " with admin option",
		}
	case !own.Audit:
		return staff.LacksRightError{
			Login:     own.Name,
			Lacks:     "the right to write the audit trail",
			Statement: "grant petstore_support to " + login,
		}
	case !own.Signal:
		return staff.LacksRightError{
			Login:     own.Name,
			Lacks:     "the right to end sessions",
			Statement: "grant pg_signal_backend to " + login,
		}
	}
	return nil
}

// checkOwnsNothing returns a staff.OwnsError if something in any database depends on the role.
// Postgres would refuse to drop it without saying why.
func checkOwnsNothing(ctx context.Context, tx pgconn.Tx, row staffRow) error {
	owns := staff.OwnsError{Login: row.Name}
	err := tx.Get(ctx, &owns, `
		select coalesce(d.datname::text, '') as database, count(*) as objects
		from pg_shdepend s left join pg_database d on d.oid = s.dbid
		where s.refclassid = 'pg_authid'::regclass and s.refobjid = $1::bigint::oid
		group by 1 order by 2 desc limit 1`, row.OID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return owns
}

// EndSessions ends the sessions of a login, which may already be removed, and waits up to 5 s for
// each. It returns the number of ended sessions.
func (s Staff) EndSessions(ctx context.Context, l staff.Login) (ended int64, err error) {
	defer pgconn.Wrap(&err, "end the sessions of login "+l.Name)
	err = s.db.Get(ctx, &ended, `
		select count(*) filter (where pg_terminate_backend(pid, 5000)) from pg_stat_activity
		where usesysid = $1::bigint::oid and pid <> pg_backend_pid()`, l.OID)
	return ended, err
}

// password is the part of a statement that sets the secret. Statements that change roles take no
// arguments.
func password(verifier string, expiresAt time.Time) string {
	return ` password ` + pq.QuoteLiteral(
		verifier,
	) + ` valid until ` + pq.QuoteLiteral(
		expiresAt.UTC().Format(time.RFC3339Nano),
	)
}

// loginRecord is what an audit entry holds of a login.
type loginRecord struct {
	Roles     []string   `json:"roles"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Redacted  []string   `json:"redacted,omitempty"`
}

func recordLogin(l staff.Login, newSecret bool) loginRecord {
	r := loginRecord{Roles: l.RoleNames(), ExpiresAt: trail.TimeOrNil(l.ExpiresAt)}
	if newSecret {
		r.Redacted = []string{"secret"}
	}
	return r
}
