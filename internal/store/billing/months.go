package billing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/usage/closing"
)

// Months closes months, and reads the usage of open and the lines of closed ones. A month is its
// first instant in UTC.
type Months struct{ db *pgconn.DB }

var (
	// ErrMonthOpen: the month was not closed.
	ErrMonthOpen = errors.New("the month is open")
	// ErrMonthClosed: the month was closed before.
	ErrMonthClosed = errors.New("the month is closed")
	// ErrMonthNotEnded: the month has not ended by the database's clock.
	ErrMonthNotEnded = errors.New("the month has not ended")
	// ErrEarlierMonthOpen: an earlier month with usage or corrections must be closed first.
	ErrEarlierMonthOpen = errors.New("an earlier month is open")
	// ErrLaterMonthClosed: a later month is closed, and its lines have the usage recorded for this
	// one.
	ErrLaterMonthClosed = errors.New("a later month is closed")
	// ErrServerAlive: a server had a heartbeat within the last minute, so it may still deliver.
	ErrServerAlive = errors.New("the server is alive")
	// ErrServerUnknown: no server with that ID has usage to deliver.
	ErrServerUnknown = errors.New("no such server has usage to deliver")
)

// Month is a closed month.
type Month struct {
	Month time.Time
	// Without are the servers that had not delivered everything and were not waited for.
	Without []string
	// The following fields are zero until the lines are sealed.
	Format   string
	Sums     closing.Sums
	SealedAt time.Time
	// SealedBy is the login that sealed it.
	SealedBy string
}

// Sealed tells whether the month's lines are complete.
func (m Month) Sealed() bool { return !m.SealedAt.IsZero() }

type monthRow struct {
	Month    time.Time      `db:"month"`
	Without  pq.StringArray `db:"without"`
	Format   sql.NullString `db:"format"`
	Tenants  sql.NullInt64  `db:"tenants"`
	Lines    sql.NullInt64  `db:"lines"`
	Admitted sql.NullInt64  `db:"admitted"`
	Refused  sql.NullInt64  `db:"refused"`
	Overage  sql.NullInt64  `db:"overage"`
	SHA256   []byte         `db:"sha256"`
	SealedAt sql.NullTime   `db:"sealed_at"`
	SealedBy sql.NullString `db:"sealed_by"`
}

func (r monthRow) month() Month {
	m := Month{
		Month:   r.Month.UTC(),
		Without: r.Without,
		Format:  r.Format.String,
		Sums: closing.Sums{
			Tenants:  r.Tenants.Int64,
			Lines:    r.Lines.Int64,
			Admitted: r.Admitted.Int64,
			Refused:  r.Refused.Int64,
			Overage:  r.Overage.Int64,
		},
		SealedAt: pgconn.TimeOf(r.SealedAt),
		SealedBy: r.SealedBy.String,
	}
	copy(m.Sums.SHA256[:], r.SHA256)
	return m
}

const monthColumns = `month, without, format, tenants, lines, admitted, refused, overage, sha256, sealed_at, sealed_by`

// Get returns a closed month, or ErrMonthOpen. Its lines may not be sealed yet.
func (d Months) Get(ctx context.Context, month time.Time) (Month, error) {
	return getMonth(ctx, d.db, month, "")
}

func getMonth(ctx context.Context, q pgconn.Queryer, month time.Time, lock string) (Month, error) {
	var row monthRow
	err := q.Get(ctx, &row, `select `+monthColumns+` from usage_months where month = $1 `+lock, date(month))
	if errors.Is(err, sql.ErrNoRows) {
		return Month{}, ErrMonthOpen
	}
	if err != nil {
		return Month{}, fmt.Errorf("read a month: %w", err)
	}
	return row.month(), nil
}

// date returns a month as a parameter of type date. An instant would become a date in the session's
// time zone.
func date(month time.Time) string { return month.UTC().Format(time.DateOnly) }

// monthName is the month as people write it.
func monthName(month time.Time) string { return month.UTC().Format("2006-01") }

// OpenBefore returns the first open month before this one that has usage or corrections; zero for
// none.
func (d Months) OpenBefore(ctx context.Context, month time.Time) (_ time.Time, err error) {
	defer pgconn.Wrap(&err, "look for open months")
	var open sql.NullTime
	err = d.db.Get(ctx, &open, `select open_month_before($1)`, date(month))
	return pgconn.TimeOf(open), err
}

// Delivery says up to which instant a server has recorded everything that it admitted.
type Delivery struct {
	ServerID string
	// To is zero if the server has not named an instant.
	To time.Time
}

// Forgotten is a server that is not waited for.
type Forgotten struct {
	Delivery
	// Already says that it was forgotten before, and has not delivered since.
	Already bool
}

// Overdue is the age at which a server's last delivery shows that the server has probably ended. A
// running server delivers each minute, and a stopping one delivers everything before it ends.
const Overdue = 2 * time.Hour

// Undelivered returns the servers that may still deliver usage of times before the instant.
func (d Months) Undelivered(ctx context.Context, before time.Time) (_ []Delivery, err error) {
	defer pgconn.Wrap(&err, "look for usage that is not delivered")
	type row struct {
		ServerID string       `db:"server_id"`
		To       sql.NullTime `db:"delivered_to"`
	}
	return pgconn.Collect(ctx, d.db, func(r row) Delivery { return Delivery{r.ServerID, pgconn.TimeOf(r.To)} }, `
		select server_id, delivered_to from usage_deliveries
		where delivered_to is null or delivered_to < $1 order by delivered_to nulls first, server_id`, before)
}

// Forget records that a server has ended: months no longer wait for its unrecorded usage, until it
// delivers again. It returns the instant up to which the server has delivered, ErrServerAlive or
// ErrServerUnknown.
func (d Months) Forget(ctx context.Context, by audit.By, serverID string) (gone Forgotten, err error) {
	defer pgconn.Wrap(&err, "forget server "+serverID)
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		var row struct {
			ServerID sql.NullString `db:"server_id"`
			To       sql.NullTime   `db:"delivered_to"`
			Already  sql.NullBool   `db:"already"`
		}
		err := tx.Get(ctx, &row, `
			select server_id, delivered_to, left_out_at < now() as already from forget_server($1)`, serverID)
		switch {
		case pgconn.IsConstraint(err, "usage_writers_alive"):
			return ErrServerAlive
		case err != nil:
			return err
		case !row.ServerID.Valid:
			return ErrServerUnknown
		}
		gone = Forgotten{Delivery{serverID, pgconn.TimeOf(row.To)}, row.Already.Bool}
		if gone.Already {
			return nil
		}
		return trail.Write(tx, by, trail.Entry{
			Action: "usage.forget", Subject: "server:" + serverID, After: forgetRecord{row.To.Time},
		})
	})
	return gone, err
}

// forgetRecord is the part of an audit entry about a forgotten server.
type forgetRecord struct {
	// DeliveredTo is missing if the server has not said it.
	DeliveredTo time.Time `json:"delivered_to,omitzero"`
}
