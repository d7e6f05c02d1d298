package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
)

// Operation answers operators' questions about the servers and Postgres.
type Operation struct{ db *pgconn.DB }

// SetReports notes the faults that a server finds in itself, by the names of its checks, for staff
// to see.
func (f Operation) SetReports(ctx context.Context, serverID string, reports []string) (err error) {
	defer pgconn.Wrap(&err, "report")
	_, err = f.db.Exec(
		ctx,
		`update servers set reports = $2 where id = $1`,
		serverID,
		pq.StringArray(append([]string{}, reports...)),
	)
	return err
}

// Reports returns the faults that servers find in themselves, by server.
func (f Operation) Reports(ctx context.Context) (map[string][]string, error) {
	var rows []struct {
		ID      string
		Reports pq.StringArray
	}
	if err := f.db.Select(ctx, &rows, `select id, reports from servers where reports <> '{}'`); err != nil {
		return nil, fmt.Errorf("read the servers' reports: %w", err)
	}
	all := make(map[string][]string, len(rows))
	for _, r := range rows {
		all[r.ID] = r.Reports
	}
	return all, nil
}

// SetEnvironment notes the environment of the keys that a server accepts, unless that is noted
// already. A server that was taken for dead and joins again has lost the note.
func (f Operation) SetEnvironment(ctx context.Context, serverID, environment string) (err error) {
	defer pgconn.Wrap(&err, "note the environment")
	_, err = f.db.Exec(
		ctx,
		`update servers set environment = $2 where id = $1 and environment <> $2`,
		serverID,
		environment,
	)
	return err
}

// Environments returns the environments of the keys that live servers accept, sorted: at most two.
// A server that accepts both kinds of keys has none.
func (f Operation) Environments(ctx context.Context) (all []string, err error) {
	defer pgconn.Wrap(&err, "read the servers' environments")
	err = f.db.Select(ctx, &all, `
		select distinct environment from servers
		where environment <> '' and seen_at > clock_timestamp() - interval '5 seconds' order by 1`)
	return all, err
}

// BanChanges counts the bans that were placed and lifted.
type BanChanges struct {
	// Number is the number of the last audit entry looked at.
	Number int64
	// ByServer counts the bans placed for requests after 429, ByStaff those placed by persons.
	ByServer int64 `db:"by_server"`
	ByStaff  int64 `db:"by_staff"`
	Lifted   int64
}

// CountBans counts the changes of bans after an entry of the audit trail.
func (f Operation) CountBans(ctx context.Context, after int64) (c BanChanges, err error) {
	defer pgconn.Wrap(&err, "count bans")
	err = f.db.Get(ctx, &c, `select number, by_server, by_staff, lifted from count_bans($1)`, after)
	return c, err
}

// Sessions is the number of Postgres's connections, and their maximum.
type Sessions struct{ Open, Most int64 }

// Sessions counts the connections of all clients to all databases of the server: the sessions with
// a database and a login, which includes workers of parallel queries. Every login sees these
// columns; backend_type is visible only to logins that may see others' sessions.
func (f Operation) Sessions(ctx context.Context) (s Sessions, err error) {
	defer pgconn.Wrap(&err, "count sessions")
	err = f.db.Get(ctx, &s, `
		select count(*) as open,
		       current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
		           as most
		from pg_stat_activity where datid is not null and usesysid is not null`)
	return s, err
}

// Archive says whether Postgres archives its write-ahead log, which allows recovery to an instant,
// and whether the last attempt failed. Last is when a segment was last archived, in RFC 3339, or
// "never".
type Archive struct {
	On, Failing bool
	Last        string
}

// Archive returns the state of Postgres's archiver.
func (f Operation) Archive(ctx context.Context) (a Archive, err error) {
	defer pgconn.Wrap(&err, "look at the archive of the write-ahead log")
	err = f.db.Get(ctx, &a, `
		select current_setting('archive_mode') <> 'off' as "on", coalesce(last_failed_time >
			coalesce(last_archived_time, '-infinity'), false) as failing,
		       coalesce(to_char(last_archived_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'never') as last
		from pg_stat_archiver`)
	return a, err
}

// Behind returns the live servers that have not recorded usage for that long, with the time of
// their last batch.
func (f Operation) Behind(ctx context.Context, by time.Duration) (_ map[string]time.Time, err error) {
	defer pgconn.Wrap(&err, "read what servers recorded")
	return pgconn.CollectMap[string, time.Time](ctx, f.db, `
		select s.id as key, w.written_at as value from servers s join usage_deliveries w on w.server_id = s.id
		where s.seen_at > clock_timestamp() - interval '5 seconds' and w.written_at < clock_timestamp() - $1 *
			interval '1 microsecond'`,
		by.Microseconds())
}

// DeliveredAgo returns the longest time since a server last delivered its usage. It leaves out
// servers that were forgotten, or delivered everything at their end.
func (f Operation) DeliveredAgo(ctx context.Context) (_ time.Duration, err error) {
	defer pgconn.Wrap(&err, "read what servers delivered")
	var micros int64
	err = f.db.Get(ctx, &micros, `
		select coalesce(extract(epoch from clock_timestamp() - min(coalesce(delivered_to, written_at))) * 1000000,
			0)::bigint
		from usage_deliveries`)
	return time.Duration(micros) * time.Microsecond, err
}

// FailedKind is the number of requests that ended in 5xx for one reason. If one key has many, only
// some are stored.
type FailedKind struct {
	Status       int
	Code, Reason string
	Requests     int64
}

// FailedSince counts the stored requests that ended in 5xx within that time, the most frequent
// first.
func (f Operation) FailedSince(ctx context.Context, ago time.Duration) (kinds []FailedKind, err error) {
	defer pgconn.Wrap(&err, "count failed requests")
	err = f.db.Select(ctx, &kinds, `
		select status, code, reason, sum(1 + suppressed)::bigint as requests from failed_requests
		where status between 500 and 599 and at > now() - $1 * interval '1 microsecond'
		group by 1, 2, 3 order by 4 desc, 1, 2, 3`, ago.Microseconds())
	return kinds, err
}
