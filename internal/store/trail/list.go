package trail

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
)

// Audit reads the audit trail. A change writes its entry in the transaction of the change.
type Audit struct{ db *pgconn.DB }

// New returns the audit trail of a database.
func New(db *pgconn.DB) Audit { return Audit{db} }

// Filter selects audit entries that match all of its set members.
type Filter struct {
	// Tenant is a tenant's name.
	Tenant string
	// Subjects are the subjects of entries; one of them must match.
	Subjects []string
	// Login is the login that made the change, Actor the person as they named themselves.
	Login, Actor string
	// Action is an action such as plan.assign, or the noun of actions: plan.
	Action string
	// The entries are from Since up to, but not including, Until.
	Since, Until time.Time
	// After is the number of the entry after which the list begins: it continues with older
	// entries, or with newer ones if OldestFirst is set.
	After int64
	// Limit is the maximum number of entries; 0 for all.
	Limit int
	// OldestFirst lists them in the order of their numbers.
	OldestFirst bool
}

// Columns are the columns of an entry a. selectEntries selects entries.
const (
	// Values that only a forger can have stored must not stop a reader. They are replaced, and then
	// do not fit the entry's hash.
	Columns = `a.number, case when a.at between '0001-01-01Z' and '9999-12-31Z' then a.at else '0001-01-01Z' end as at,
		coalesce(a.login, '') as login, coalesce(a.address, '') as address, coalesce(a.claimed_actor, '') as
		  claimed_actor,
		coalesce(a.action, '') as action, coalesce(a.tenant_id, 0) as tenant_id, coalesce(a.subject, '') as subject,
		a.before, a.after, coalesce(a.reason, '') as reason, a.prev, a.hash`
	selectEntries = `
		select ` + Columns + `, coalesce(t.name, '') as tenant_name
		from audit_entries a left join tenants t on t.id = a.tenant_id and t.erased_at is null`
)

// List returns entries, the newest first, or plans.ErrTenantNotFound, or ErrEntryNotFound if there
// is no entry After.
//
// Entries are sorted by time, which lets every filter use an index. Time order equals number order
// unless the clock of the database was set back.
func (d Audit) List(ctx context.Context, f Filter) iter.Seq2[audit.Entry, error] {
	return pgconn.ListOf(ctx, d.db, "list audit entries", Row.Entry, func() (*pgconn.ListQuery, error) {
		tenantID, err := tenants.IDOf(ctx, d.db, f.Tenant)
		if err != nil {
			return nil, err
		}
		q := pgconn.NewListQuery(selectEntries)
		if tenantID != 0 {
			q.And(`a.tenant_id = ?`, tenantID)
		}
		if f.After != 0 {
			if err := CheckEntry(ctx, d.db, f.After); err != nil {
				return nil, err
			}
			if f.OldestFirst {
				q.And(`a.number > ?`, f.After)
			} else {
				q.And(`(a.at, a.number) < ((select at from audit_entries where number = ?), ?)`, f.After, f.After)
			}
		}
		f.conditions(q)
		order := `a.at desc, a.number desc`
		if f.OldestFirst {
			order = `a.number`
		}
		q.End(order, f.Limit)
		return q, nil
	})
}

func (f Filter) conditions(q *pgconn.ListQuery) {
	if len(f.Subjects) > 0 {
		q.And(`a.subject = any(?)`, pq.Array(f.Subjects))
	}
	if f.Login != "" {
		q.And(`a.login = ?`, f.Login)
	}
	if f.Actor != "" {
		q.And(`a.claimed_actor = ?`, f.Actor)
	}
	switch {
	case strings.Contains(f.Action, "."):
		q.And(`a.action = ?`, f.Action)
	case f.Action != "":
		q.And(`a.action like ?`, pgconn.LikePrefix(f.Action+"."))
	}
	if !f.Since.IsZero() {
		q.And(`a.at >= ?`, f.Since)
	}
	if !f.Until.IsZero() {
		q.And(`a.at < ?`, f.Until)
	}
}

// ErrEntryNotFound: the audit trail has no entry with the number, or the login may not read it.
var ErrEntryNotFound = errors.New("no such entry")

// CheckEntry returns ErrEntryNotFound if there is no entry with the number.
func CheckEntry(ctx context.Context, q pgconn.Queryer, number int64) error {
	var found bool
	if err := q.Get(ctx, &found, `select exists (select from audit_entries where number = $1)`, number); err != nil {
		return err
	}
	if !found {
		return ErrEntryNotFound
	}
	return nil
}

// Row is a row of Columns and the tenant's name.
type Row struct {
	Number       int64     `db:"number"`
	At           time.Time `db:"at"`
	Login        string    `db:"login"`
	Address      string    `db:"address"`
	ClaimedActor string    `db:"claimed_actor"`
	Action       string    `db:"action"`
	TenantID     int64     `db:"tenant_id"`
	TenantName   string    `db:"tenant_name"`
	Subject      string    `db:"subject"`
	Before       []byte    `db:"before"`
	After        []byte    `db:"after"`
	Reason       string    `db:"reason"`
	Prev         []byte    `db:"prev"`
	Hash         []byte    `db:"hash"`
}

// Entry is the row as an entry.
func (r Row) Entry() audit.Entry {
	return audit.Entry{
		Number:       r.Number,
		At:           r.At.UTC(),
		Login:        r.Login,
		Address:      r.Address,
		ClaimedActor: r.ClaimedActor,
		Action:       r.Action,
		TenantID:     r.TenantID,
		TenantName:   r.TenantName,
		Subject:      r.Subject,
		Before:       r.Before,
		After:        r.After,
		Reason:       r.Reason,
		Prev:         hashOf(r.Prev),
		Hash:         hashOf(r.Hash),
	}
}

// hashOf returns the hash, and zeros if b is not one.
func hashOf(b []byte) (h audit.Hash) {
	if len(b) == len(h) {
		copy(h[:], b)
	}
	return h
}

// Get returns an entry, or ErrEntryNotFound, with its redacted members if they are still kept.
func (d Audit) Get(ctx context.Context, number int64) (audit.Entry, *HiddenValues, error) {
	var row Row
	err := pgconn.GetOr(ctx, d.db, &row, ErrEntryNotFound, selectEntries+` where a.number = $1`, number)
	if err != nil {
		return audit.Entry{}, nil, fmt.Errorf("read entry %d: %w", number, err)
	}
	hidden, err := ReadHidden(ctx, d.db, number)
	if err != nil {
		return audit.Entry{}, nil, fmt.Errorf("read entry %d: %w", number, err)
	}
	return row.Entry(), hidden, nil
}
