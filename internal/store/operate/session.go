package operate

import (
	"context"
	"database/sql"
	"time"

	"petstore.example/internal/store/pgconn"
)

// Session is what a connection is, as Postgres sees it.
type Session struct {
	Login
	Database, ServerVersion string
	// TLS is the version of TLS, empty without. Certificate is the name in the client's certificate, empty if there is none.
	TLS, Certificate string
	// ExpiresAt is when the login's secret expires; zero for never.
	ExpiresAt time.Time
}

// Session returns what this connection is.
func (d Operate) Session(ctx context.Context) (_ Session, err error) {
	defer pgconn.Wrap(&err, "read the session")
	var row struct {
		Login
		Database, Version, TLS, Certificate string
		ExpiresAt                           sql.NullTime `db:"expires_at"`
	}
	err = d.db.Get(ctx, &row, `
		select l.*, current_database()::text as database, split_part(current_setting('server_version'), ' ', 1) as version,
		       coalesce(s.version, '') as tls, coalesce(s.client_dn, '') as certificate, nullif(r.rolvaliduntil, 'infinity') as expires_at
		from (`+selectLogin+`) l
		join pg_roles r on r.rolname = l.name
		left join pg_stat_ssl s on s.pid = pg_backend_pid()
		where l.name = session_user`)
	return Session{row.Login, row.Database, row.Version, row.TLS, row.Certificate, pgconn.TimeOf(row.ExpiresAt)}, err
}
