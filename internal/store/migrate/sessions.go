package migrate

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/postgres"

	"petstore.example/internal/store/pgconn"
)

// Session is a session of Postgres that holds what a migration, or another session, waits for.
type Session struct {
	PID                int // 0 for a prepared transaction, which has no session
	Login, Application string
	// Since is when its transaction began, in UTC, and From its address. Both are empty if the
	// login may not see them, which needs pg_read_all_stats.
	Since, From string
}

func (s Session) String() string {
	if s.PID == 0 {
		return "a prepared transaction, see pg_prepared_xacts"
	}
	text := fmt.Sprintf("pid %d, login %q, application %q", s.PID, s.Login, s.Application)
	if s.Login == "" {
		text = fmt.Sprintf("pid %d of Postgres itself, as an autovacuum", s.PID)
	}
	if s.Since != "" {
		text += ", in a transaction since " + s.Since
	}
	if s.From != "" {
		text += ", from " + s.From
	}
	return text
}

// End says how to end the session.
func (s Session) End() string {
	return fmt.Sprintf("to end it, run in SQL as login %q: select pg_terminate_backend(%d)", s.Login, s.PID)
}

func names(all []Session) string {
	if len(all) == 0 {
		return "another session"
	}
	var texts []string
	for _, s := range all {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, "; ")
}

// querier is a connection or a pool of them.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// sessions returns the sessions whose pids are in pids: an item of a FROM clause, named p, with the
// argument $1.
func sessions(ctx context.Context, db querier, pids string, arg any) ([]Session, error) {
	rows, err := db.QueryContext(ctx, `
		select distinct p.pid, coalesce(a.usename, ''), coalesce(a.application_name, ''),
		       coalesce(to_char(a.xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), ''),
		       case when a.client_port = -1 then 'the machine of Postgres' else coalesce(host(a.client_addr), '') end
		from `+pids+` left join pg_stat_activity a on a.pid = p.pid
		where p.pid = 0 or a.pid is not null
		order by p.pid`, arg)
	if err != nil {
		return nil, pgconn.Translate(err)
	}
	defer rows.Close()
	var all []Session
	for rows.Next() {
		var s Session
		if err := rows.Scan(&s.PID, &s.Login, &s.Application, &s.Since, &s.From); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, pgconn.Translate(rows.Err())
}

// lockID is the number of golang-migrate's advisory lock for the current schema. It is below 2^32,
// so pg_locks shows it as objid.
func lockID(ctx context.Context, conn *sql.Conn) (string, error) {
	var name, schema string
	err := conn.QueryRowContext(ctx, `select current_database(), coalesce(current_schema(), '')`).Scan(&name, &schema)
	if err != nil {
		return "", pgconn.Translate(err)
	}
	return database.GenerateAdvisoryLockId(name, schema, postgres.DefaultMigrationsTable)
}

// holder returns the session that holds the lock of migrations, nil for none.
func holder(ctx context.Context, conn *sql.Conn) (*Session, error) {
	id, err := lockID(ctx, conn)
	if err != nil {
		return nil, err
	}
	all, err := sessions(ctx, conn, `(
		select pid from pg_locks
		where locktype = 'advisory' and classid = 0 and objid = $1 and objsubid = 1 and granted
		  and database = (select oid from pg_database where datname = current_database())) p`, id)
	if len(all) == 0 || err != nil {
		return nil, err
	}
	all[0].Since = "" // Since is when one transaction began. When the migration began is in the application's name.
	return &all[0], nil
}

// application is the name of a migrating session, at most the 63 bytes that Postgres takes.
func application(host string, began time.Time) string {
	return fmt.Sprintf("petstore-migrate %.25s %s", host, began.UTC().Format(time.RFC3339))
}

// watch looks at regular intervals, on connections of its own, for the sessions that a backend
// waits for. It calls seen each time that they change, until the returned function is called.
func (d *driver) watch(every time.Duration, seen func([]Session)) (stop func()) {
	ctx, cancel := context.WithCancel(d.ctx)
	var running sync.WaitGroup
	running.Go(func() {
		var last []Session
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
			all, err := sessions(ctx, d.conn.db, `unnest(pg_blocking_pids($1)) p (pid)`, d.pid)
			if err == nil && len(all) > 0 && !slices.Equal(all, last) {
				last = all
				seen(all)
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
