package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// Audit reads the audit trail. Each change writes its entry in its own transaction.
type Audit struct{ db *pgconn.DB }

// AuditFilter restricts a list of audit entries.
type AuditFilter struct {
	// Tenant is a tenant's name; empty for all entries, including those of no tenant.
	Tenant string
	// Subjects are the subjects of entries; none for all.
	Subjects []string
	Limit    int
}

const (
	// Values that only a forger can have stored must not stop a reader: they become others, which do not have the entry's hash.
	auditColumns = `a.number, case when a.at between '0001-01-01Z' and '9999-12-31Z' then a.at else '0001-01-01Z' end as at,
		coalesce(a.login, '') as login, coalesce(a.address, '') as address, coalesce(a.claimed_actor, '') as claimed_actor,
		coalesce(a.action, '') as action, coalesce(a.tenant_id, 0) as tenant_id, coalesce(a.subject, '') as subject,
		a.before, a.after, coalesce(a.reason, '') as reason, a.prev, a.hash`
	selectAudit = `
		select ` + auditColumns + `, coalesce(t.name, '') as tenant_name
		from audit_entries a left join tenants t on t.id = a.tenant_id`
)

// List returns the latest entries, newest first, or plans.ErrTenantNotFound.
func (d Audit) List(ctx context.Context, f AuditFilter) ([]audit.Entry, error) {
	var tenant plans.Tenant
	if f.Tenant != "" {
		var err error
		if tenant, err = getTenant(ctx, d.db, f.Tenant, sql.NullTime{}); err != nil {
			return nil, fmt.Errorf("list audit entries: %w", err)
		}
	}
	entries, err := pgconn.Collect(ctx, d.db, auditRow.entry, selectAudit+`
		where ($1 = 0 or a.tenant_id = $1) and (cardinality($2::text[]) = 0 or a.subject = any($2))
		order by a.number desc limit $3`, tenant.ID, pq.Array(append([]string{}, f.Subjects...)), f.Limit)
	if err != nil {
		return nil, fmt.Errorf("list audit entries: %w", err)
	}
	return entries, nil
}

type auditRow struct {
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

func (r auditRow) entry() audit.Entry {
	return audit.Entry{
		Number: r.Number, At: r.At.UTC(), Login: r.Login, Address: r.Address, ClaimedActor: r.ClaimedActor, Action: r.Action,
		TenantID: r.TenantID, TenantName: r.TenantName, Subject: r.Subject, Before: r.Before, After: r.After, Reason: r.Reason,
		Prev: hashOf(r.Prev), Hash: hashOf(r.Hash),
	}
}

// hashOf returns zeros for what is no hash.
func hashOf(b []byte) (h audit.Hash) {
	if len(b) == len(h) {
		copy(h[:], b)
	}
	return h
}
