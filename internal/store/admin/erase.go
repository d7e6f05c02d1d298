package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// Erasure is the result of erasing a tenant.
type Erasure struct {
	TenantID int64
	// Name is the tenant's name from then on.
	Name     string
	ErasedAt time.Time
	// Removed and Stay count the tenant's rows in each table: those that were removed, and those
	// that stay under its number.
	Removed, Stay map[string]int64
	// Lines is the number of lines of closed months that had the tenant's name.
	Lines int64
	// Number and Hash identify the audit entry; they are empty in a dry run.
	Number int64
	Hash   []byte
}

// Rows is the number of removed rows.
func (e Erasure) Rows() (n int64) {
	for _, rows := range e.Removed {
		n += rows
	}
	return n
}

// eraseRecord is what the audit entry holds of an erasure.
type eraseRecord struct {
	ErasedAt time.Time        `json:"erased_at"`
	Removed  map[string]int64 `json:"removed"`
	Stay     map[string]int64 `json:"stay"`
	Lines    int64            `json:"redacted_lines"`
	Redacted []string         `json:"redacted"`
}

// Erase removes all data of a suspended tenant except what is billed, which stays under its number.
// Its keys, name and profile are removed at once, together with the audit entry. Larger data
// follows in batches. To continue after an interruption, call Erase with the tenant's new name; the
// result is the same. removing is called for each batch.
//
// Only the owner of the tables may do this. It returns plans.ErrTenantNotFound or
// ErrTenantNotSuspended. An Erasure with an error must be continued. A dry run returns what would
// be removed, and a Number only if the tenant was erased before.
func (d TenantData) Erase(
	ctx context.Context,
	by audit.By,
	name string,
	removing func(rows int),
) (e Erasure, err error) {
	defer pgconn.Wrap(&err, "erase tenant")
	err = trail.Run(ctx, d.db.LongTx, by, func(ctx context.Context, tx pgconn.Tx) error {
		t, err := tenants.LockAny(ctx, tx, name, d.db.JustNow())
		if err != nil {
			return err
		}
		e = Erasure{TenantID: t.ID, Name: plans.ErasedName(t.ID)}
		if t.Erased() {
			return nil
		}
		// Check the right first: nobody should suspend a customer and then be unable to erase it.
		if _, err := tx.Exec(ctx, `update tenants set erased_at = null where false`); err != nil {
			return err
		}
		if t.SuspendedAt.IsZero() {
			return plans.ErrTenantNotSuspended
		}
		return e.begin(ctx, d.db, tx, by, t)
	})
	if err != nil {
		return Erasure{}, err
	}
	if e.ErasedAt.IsZero() || !by.DryRun {
		if err := d.finishErasure(ctx, by, &e, removing); err != nil {
			return Erasure{TenantID: e.TenantID, Name: e.Name}, err
		}
	}
	return e, nil
}

// begin removes the small data, and writes the entry.
func (e *Erasure) begin(ctx context.Context, db *pgconn.DB, tx pgconn.Tx, by audit.By, t plans.Tenant) (err error) {
	// No month may be sealed meanwhile: its lines would have the name. This waits for a month that
	// is being sealed.
	if _, err := tx.Exec(ctx, `lock table usage_months in share mode`); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `select from usage_months where sealed_at is null for share`); err != nil {
		return err
	}
	if e.ErasedAt, err = pgconn.Instant(ctx, db, tx, time.Time{}); err != nil {
		return err
	}
	if err := e.count(ctx, tx); err != nil {
		return err
	}
	for _, table := range tenantTables {
		if table.erasing == goes {
			if _, err := tx.Exec(ctx, `delete from `+table.name+` where tenant_id = $1`, t.ID); err != nil {
				return fmt.Errorf("%s: %w", table.name, err)
			}
		}
	}
	_, err = tx.Exec(
		ctx,
		`update tenants set name = $2, email = null, contact = null, notes = null, erased_at = $3 where id = $1`,
		t.ID,
		e.Name,
		e.ErasedAt,
	)
	if err != nil {
		return err
	}
	// Names are in JSON strings, where every quote has a backslash before it.
	lines, err := tx.Exec(
		ctx,
		`update usage_lines set form = regexp_replace(form, '"tenant":"([^"\\]|\\.)*"', $2) where tenant_id = $1`,
		t.ID,
		`"tenant":"`+e.Name+`"`,
	)
	if err != nil {
		return err
	}
	e.Lines = int64(lines)
	// An event that was tried keeps its bytes, because the receiver may already have it.
	_, err = tx.Exec(ctx, `
		update sent_events set body = case when state <> 'unsent' then
			regexp_replace(body, '"tenant":"([^"\\]|\\.)*"', $2) end
		where tenant_id = $1 and body is not null and (attempts = 0 or state = 'unsent')`,
		t.ID, `"tenant":"`+e.Name+`"`)
	if err != nil {
		return err
	}
	return trail.Write(tx, by, trail.Entry{
		Action: "tenant.erase", TenantID: t.ID, Subject: audit.TenantSubject(t.ID), Before: tenancy.RecordTenant(t, t),
		After: eraseRecord{e.ErasedAt, e.Removed, e.Stay, e.Lines, []string{"name", "email", "contact", "notes"}},
	})
}

// count counts the tenant's rows in each table.
func (e *Erasure) count(ctx context.Context, tx pgconn.Tx) error {
	if err := showTenant(ctx, tx, e.TenantID); err != nil {
		return err
	}
	e.Removed, e.Stay = map[string]int64{}, map[string]int64{}
	for _, t := range tenantTables {
		var rows int64
		if err := tx.Get(
			ctx,
			&rows,
			`select count(*) from `+t.name+` where `+t.tenantColumn()+` = $1`,
			e.TenantID,
		); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		switch {
		case rows == 0 || t.name == "tenants":
		case t.erasing == goes || t.erasing == goesSlowly:
			e.Removed[t.name] = rows
		default:
			e.Stay[t.name] = rows
		}
	}
	return nil
}

// showTenant makes row-level security show the tenant's rows.
func showTenant(ctx context.Context, tx pgconn.Tx, tenantID int64) error {
	_, err := tx.Exec(ctx, `select set_config('petstore.tenant_id', $1, true)`, fmt.Sprint(tenantID))
	return err
}

// eraseBatch is the number of rows removed in one transaction.
const eraseBatch = 5000

// finishErasure removes everything left, and reads the entry. A request under way when the keys
// were removed may have added something.
func (d TenantData) finishErasure(ctx context.Context, by audit.By, e *Erasure, removing func(rows int)) error {
	for _, t := range tenantTables {
		if by.DryRun || t.erasing != goes && t.erasing != goesSlowly {
			continue
		}
		for n := eraseBatch; n == eraseBatch; {
			err := d.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) (err error) {
				if err := showTenant(ctx, tx, e.TenantID); err != nil {
					return err
				}
				n, err = tx.Exec(ctx, fmt.Sprintf(
					`delete from %s where ctid = any(array(select ctid from %[1]s where tenant_id = $1 limit %d))`,
					t.name,
					eraseBatch,
				), e.TenantID)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			removing(n)
		}
	}
	return d.readErasure(ctx, e)
}

// readErasure reads the audit entry.
func (d TenantData) readErasure(ctx context.Context, e *Erasure) error {
	var row struct {
		Number int64
		Hash   []byte
		After  []byte
	}
	err := d.db.Get(ctx, &row, `
		select number, hash, after from audit_entries where tenant_id = $1 and action = 'tenant.erase' order by at
			desc, number desc limit 1`, e.TenantID)
	if err != nil {
		return fmt.Errorf("read the entry: %w", err)
	}
	var said eraseRecord
	if err := json.Unmarshal(row.After, &said); err != nil {
		return fmt.Errorf("read entry %d: %w", row.Number, err)
	}
	e.Number, e.Hash = row.Number, row.Hash
	e.ErasedAt, e.Removed, e.Stay, e.Lines = said.ErasedAt.UTC(), said.Removed, said.Stay, said.Lines
	return nil
}
