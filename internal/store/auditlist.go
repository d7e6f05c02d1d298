package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
)

// Audit reads the audit log. Each change writes its entry in its own transaction.
type Audit struct{ db *pgconn.DB }

// AuditFilter restricts a list of audit entries.
type AuditFilter struct {
	// Tenant is a tenant's name; empty for all entries, including those of no tenant.
	Tenant string
	// Subjects are the names and IDs of what was changed; none for all.
	Subjects []string
	Limit    int
}

// List returns the latest entries, newest first, or plans.ErrTenantNotFound.
func (d Audit) List(ctx context.Context, f AuditFilter) ([]audit.Entry, error) {
	if err := checkTenant(ctx, d.db, f.Tenant); err != nil {
		return nil, fmt.Errorf("list audit entries: %w", err)
	}
	entries, err := pgconn.Collect(ctx, d.db, auditRow.entry, `
		select a.id, a.at, a.actor, a.action, coalesce(t.name, '') as tenant, a.subject, a.before, a.after, a.reason
		from audit_entries a left join tenants t on t.id = a.tenant_id
		where ($1 = '' or t.name = $1) and (cardinality($2::text[]) = 0 or a.subject = any($2))
		order by a.id desc limit $3`, f.Tenant, pq.Array(append([]string{}, f.Subjects...)), f.Limit)
	if err != nil {
		return nil, fmt.Errorf("list audit entries: %w", err)
	}
	return entries, nil
}

type auditRow struct {
	ID      int64     `db:"id"`
	At      time.Time `db:"at"`
	Actor   string    `db:"actor"`
	Action  string    `db:"action"`
	Tenant  string    `db:"tenant"`
	Subject string    `db:"subject"`
	Before  []byte    `db:"before"`
	After   []byte    `db:"after"`
	Reason  string    `db:"reason"`
}

func (r auditRow) entry() audit.Entry {
	return audit.Entry{
		ID: r.ID, At: r.At.UTC(), Actor: r.Actor, Action: r.Action, Tenant: r.Tenant, Subject: r.Subject,
		Before: r.Before, After: r.After, Reason: r.Reason,
	}
}
