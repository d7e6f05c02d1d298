package admin

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
)

// Retention has how long each kind of rows is kept, and deletes expired rows.
type Retention struct{ db *pgconn.DB }

// The kinds of data that are kept for a time.
const (
	RetentionUsage  = "hourly_usage"
	RetentionBans   = "bans"
	RetentionKeys   = "ended_keys"
	RetentionFailed = "failed_requests"
	RetentionAudit  = "audit"
)

var (
	// ErrRetentionBusy: another session is removing something.
	ErrRetentionBusy = errors.New("another session is deleting expired rows")
	// ErrRetentionLocked: the hours of a month are summed, but sessions that read usage keep the
	// days from replacing them.
	ErrRetentionLocked = errors.New("other sessions read usage at this moment")
	// ErrNoRetention: no kind of data whose retention can be set has that name.
	ErrNoRetention = errors.New("no such kind")
	// ErrRetentionTooShort: other parts need younger data than that.
	ErrRetentionTooShort = errors.New("kept too short")
)

// RetentionRule is the rule for one kind of data that is kept for a time.
type RetentionRule struct {
	Kind string
	// Keep is how long it is kept, Least the shortest time that can be set.
	Keep, Least time.Duration
	// BeginsAt is when removing began or begins.
	BeginsAt time.Time
	// RunAt is when everything due was last removed; zero for never.
	RunAt time.Time
	// Removed is the number of rows removed so far.
	Removed int64
	// WaitsFor is the month that must be closed before its hours are summed; zero for none.
	WaitsFor time.Time
}

type ruleRow struct {
	Kind     string       `db:"kind"`
	Keep     int64        `db:"keep"`
	Least    int64        `db:"least"`
	BeginsAt time.Time    `db:"begins_at"`
	RunAt    sql.NullTime `db:"run_at"`
	Removed  int64        `db:"removed"`
	WaitsFor sql.NullTime `db:"waits_for"`
}

func (r ruleRow) rule() RetentionRule {
	return RetentionRule{
		Kind:     r.Kind,
		Keep:     time.Duration(r.Keep) * time.Second,
		Least:    time.Duration(r.Least) * time.Second,
		BeginsAt: r.BeginsAt.UTC(),
		RunAt:    pgconn.TimeOf(r.RunAt),
		Removed:  r.Removed,
		WaitsFor: pgconn.TimeOf(r.WaitsFor),
	}
}

const ruleQuery = `
	select r.kind, extract(epoch from r.keep)::bigint as keep, extract(epoch from r.least)::bigint as least,
		r.begins_at, r.run_at, r.removed,
	       case when r.kind = 'hourly_usage' then (
	         select coalesce(open_month_before((p.ends at time zone 'UTC')::date), (
	                  select min(m.month) from usage_months m where m.sealed_at is null and m.month < (p.ends at time
	                      zone 'UTC')::date))
	         from usage_partitions p where p.rolled_at is null and p.ends <= now() - r.keep order by p.ends limit 1
	       ) end as waits_for
	from retention r`

// List returns the rules of all kinds.
func (d Retention) List(ctx context.Context) (_ []RetentionRule, err error) {
	defer pgconn.Wrap(&err, "list retention")
	return pgconn.Collect(ctx, d.db, ruleRow.rule, ruleQuery+` order by r.kind`)
}

// ruleRecord is what an audit entry holds of a rule.
type ruleRecord struct {
	Keep string `json:"keep"`
}

// Set changes how long a kind is kept. Only the owner of the tables may do this. It returns
// ErrNoRetention or ErrRetentionTooShort.
func (d Retention) Set(
	ctx context.Context,
	by audit.By,
	kind string,
	keep time.Duration,
) (after RetentionRule, err error) {
	defer pgconn.Wrap(&err, "set retention")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		var before ruleRow
		err := pgconn.GetOr(ctx, tx, &before, ErrNoRetention, ruleQuery+` where r.kind = $1 for update of r`, kind)
		if err != nil {
			return err
		}
		if keep < before.rule().Least {
			return ErrRetentionTooShort
		}
		if _, err := tx.Exec(
			ctx,
			`update retention set keep = $2 * interval '1 second' where kind = $1`,
			kind,
			int64(keep.Seconds()),
		); err != nil {
			return err
		}
		after = before.rule()
		was := after.Keep
		after.Keep = keep.Truncate(time.Second)
		if was == after.Keep {
			return nil
		}
		return trail.Write(tx, by, trail.Entry{
			Action:  "retention.set",
			Subject: "retention:" + kind,
			Before:  ruleRecord{was.String()},
			After:   ruleRecord{after.Keep.String()},
		})
	})
	return after, err
}

// pruneQueries remove a batch of a kind. All return the columns of roll_up_usage.
var pruneQueries = map[string]string{
	RetentionUsage:  `select hours, state from roll_up_usage($1)`,
	RetentionBans:   pruneQuery(`prune_bans($1)`),
	RetentionKeys:   pruneQuery(`prune_keys($1)`),
	RetentionFailed: pruneQuery(`prune_failed_requests(now(), $1)`),
}

func pruneQuery(function string) string {
	return `select greatest(n, 0) as hours, case when n < 0 then 'busy' when n >= $1 then 'more' else 'done' end as
		state from ` + function + ` n`
}

// Prune removes a batch of about the given number of rows, or sums hours into days. It
// returns the number, and whether there may be more: then call it again. It returns
// ErrRetentionBusy while another session removes something, and ErrRetentionLocked for
// RetentionUsage.
func (d Retention) Prune(ctx context.Context, kind string, most int) (removed int, more bool, err error) {
	var batch struct {
		Rows  int    `db:"hours"`
		State string `db:"state"`
	}
	err = d.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		return tx.Get(ctx, &batch, pruneQueries[kind], most)
	})
	switch {
	case err == nil && batch.State == "busy":
		err = ErrRetentionBusy
	case err == nil && batch.State == "locked":
		err = ErrRetentionLocked
	}
	if err != nil {
		return 0, false, fmt.Errorf("delete expired rows of %s: %w", kind, err)
	}
	return batch.Rows, batch.State == "more", nil
}

// AddPartitions makes the partitions of coming months, and returns their number.
func (d Retention) AddPartitions(ctx context.Context) (made int, err error) {
	defer pgconn.Wrap(&err, "make partitions of usage")
	err = d.db.Get(ctx, &made, `select add_usage_partitions()`)
	return made, err
}

// Removed is the number of rows of a kind that were or would be removed: for RetentionUsage the
// hours that are summed, for RetentionAudit entries.
type Removed struct {
	Kind string `db:"kind"`
	Rows int64  `db:"rows"`
}

// Due counts what Prune would remove now, bans before keys. Only the owner of the tables may do
// this.
func (d Retention) Due(ctx context.Context) (due []Removed, err error) {
	defer pgconn.Wrap(&err, "count what is old")
	err = d.db.Select(ctx, &due, `
		select 'audit' as kind, coalesce(sum(p.last - p.first + 1), 0)::bigint as rows
		from audit_partitions p join audit_entries e on e.number = p.last where e.at < retention_before('audit')
		union all
		select 'bans', count(*) from bans where least(ends_at, lifted_at) < retention_before('bans')
		union all
		select 'ended_keys', count(*) from api_keys k
		where coalesce(k.revoked_at, k.expires_at) < retention_before('ended_keys') and not exists (
		  select from bans b
		  where b.key_id = k.id and (least(b.ends_at, b.lifted_at) < retention_before('bans')) is not true)
		union all
		select 'failed_requests', count(*) from failed_requests where at < retention_before('failed_requests')
		union all
		select 'hourly_usage', count(*) from usage_hourly where hour < (
		  select max(p.ends) from usage_partitions p
		  where p.rolled_at is null and p.ends <= least(retention_before('hourly_usage'), closed_until())
		    and not exists (select from usage_months m where m.sealed_at is null and m.month < (p.ends at time zone
		        'UTC')::date)
		)
		order by 1`)
	return due, err
}

// ErrAuditBusy: others read or write the audit trail for longer than a moment, so nothing of it can
// be removed.
var ErrAuditBusy = errors.New(
	"others read or write them, such as audit list or pg_dump: try again when they have ended",
)

// CutAudit begins a partition of the audit trail in a new year, and reports whether it did.
func (d Retention) CutAudit(ctx context.Context) (cut bool, err error) {
	defer pgconn.Wrap(&err, "cut the audit trail")
	err = d.db.Get(ctx, &cut, `select cut_audit_trail()`)
	return cut, err
}

// RemovedAudit says which entries of the audit trail were removed.
type RemovedAudit struct {
	// Entries is the number of removed entries; 0 if none was old enough.
	Entries int64
	// Begin is the last removed entry, from which the trail goes on.
	Begin audit.Checkpoint
	// At is when that entry was written.
	At time.Time
}

// removedAuditRecord is what the entry audit.remove holds.
type removedAuditRecord struct {
	audit.Removed

	Entries int64     `json:"entries"`
	At      time.Time `json:"at"`
}

// RemoveAudit removes the partitions of the audit trail whose last entry is past its retention.
// Only the owner of the tables may do this. The trail goes on from the last removed entry, which a
// new entry names. It returns ErrAuditBusy while others read the trail for longer than a moment.
func (d Retention) RemoveAudit(ctx context.Context, by audit.By) (done RemovedAudit, err error) {
	defer pgconn.Wrap(&err, "remove old entries of the audit trail")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		done = RemovedAudit{}
		var ends []time.Time
		err := tx.Select(ctx, &ends, `
			select e.at from audit_partitions p join audit_entries e on e.number = p.last
			where e.at < retention_before('audit') order by p.last`)
		if err != nil {
			return err
		}
		err = tx.Get(ctx, &done.Entries, `select remove_audit_entries()`)
		if pq.As(err, pqerror.LockNotAvailable) != nil {
			return ErrAuditBusy
		}
		if err != nil || done.Entries == 0 {
			return err
		}
		begin, err := trail.BeginningOf(ctx, tx)
		if err != nil {
			return err
		}
		done.Begin, done.At = begin, ends[len(ends)-1].UTC()
		return trail.Write(tx, by, trail.Entry{Action: audit.ActionRemove, Subject: "audit", After: removedAuditRecord{
			audit.Removed{Number: begin.Number, Hash: hex.EncodeToString(begin.Hash[:])}, done.Entries, done.At,
		}})
	})
	return done, err
}
