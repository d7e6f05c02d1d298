package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
)

// entryToUndo is an entry with what its undo needs.
type entryToUndo struct {
	audit.Entry
	old    bool
	hidden *HiddenValues
}

const (
	// role_audit_entries has what the login may read.
	selectRoleAudit = `
		select ` + auditColumns + `, coalesce(t.name, '') as tenant_name, a.at < now() - interval '30 days' as old,
		  coalesce(u.undoes, 0) as undoes
		from role_audit_entries a left join tenants t on t.id = a.tenant_id and t.erased_at is null left join undo_values u on u.number = a.number`
	// latestChanges is among how many changes of a login Latest looks for one to take back.
	latestChanges = 200
)

type undoRow struct {
	auditRow
	Old    bool  `db:"old"`
	Undoes int64 `db:"undoes"`
}

func (r undoRow) entry() entryToUndo {
	e := entryToUndo{Entry: r.auditRow.entry(), old: r.Old}
	e.Undoes = r.Undoes
	return e
}

// entries returns the entries in the order of their numbers.
func (d Undos) entries(ctx context.Context, numbers []int64) ([]entryToUndo, error) {
	entries, err := pgconn.Collect(ctx, d.db, undoRow.entry, selectRoleAudit+` where a.number = any($1) order by a.number`, pq.Array(numbers))
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		if !slices.ContainsFunc(entries, func(e entryToUndo) bool { return e.Number == n }) {
			return nil, fmt.Errorf("entry %d: %w", n, d.missing(ctx, n))
		}
	}
	for i, e := range entries {
		if len(e.Redacted()) == 0 || e.Action != "tenant.edit" && e.Action != "key.edit" {
			continue
		}
		if entries[i].hidden, err = readHidden(ctx, d.db, e.Number); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// missing is the error for an entry that the login does not see: ErrEntryNotFound, or that it may not read the entry.
func (d Undos) missing(ctx context.Context, number int64) error {
	var exists bool
	if err := d.db.Get(ctx, &exists, `select exists (select from audit_entries where number = $1)`, number); err != nil {
		return err
	}
	if !exists {
		return ErrEntryNotFound
	}
	var action string
	return d.db.Get(ctx, &action, `select action from audit_entries where number = $1`, number)
}

// later returns the entries about the subjects of these that have greater numbers than the first of them, by subject and in their order.
func (d Undos) later(ctx context.Context, entries []entryToUndo) (map[string][]audit.Entry, error) {
	bySubject := map[string][]audit.Entry{}
	if len(entries) == 0 {
		return bySubject, nil
	}
	var subjects []string
	for _, e := range entries {
		subjects = append(subjects, e.Subject)
	}
	later, err := pgconn.Collect(ctx, d.db, undoRow.entry,
		selectRoleAudit+` where a.subject = any($1) and a.number > $2 order by a.number`, pq.Array(subjects), entries[0].Number)
	for _, e := range later {
		bySubject[e.Subject] = append(bySubject[e.Subject], e.Entry)
	}
	return bySubject, err
}

// lockSubjects blocks other changes to what the entries are about.
func lockSubjects(ctx context.Context, db *DB, entries []entryToUndo) error {
	var keyIDs, plans []string
	var tenants []int64
	for _, e := range entries {
		plan, isPlan := strings.CutPrefix(e.Subject, PlanSubject(""))
		switch {
		case isPlan:
			plans = append(plans, plan)
		case strings.HasPrefix(e.Subject, "key_"):
			keyIDs = append(keyIDs, e.Subject)
		// Billing marks assignments as void and may not lock tenants: setVoid locks the assignment.
		case e.TenantID != 0 && e.Action != "plan.void" && e.Action != "plan.unvoid":
			tenants = append(tenants, e.TenantID)
		}
	}
	if len(tenants)+len(keyIDs) > 0 {
		if err := db.lock(ctx, nil, tenants, keyIDs); err != nil {
			return err
		}
	}
	if len(plans) == 0 {
		return nil
	}
	_, err := db.pg.Exec(ctx, `select from price_list where name = any($1) order by name for no key update`, pq.Array(plans))
	if i := slices.IndexFunc(entries, func(e entryToUndo) bool { return e.Subject == PlanSubject(plans[0]) }); err != nil {
		return &UndoError{Entry: entries[i].Entry, Err: err}
	}
	return nil
}

// tenantName returns the present name of a tenant, "" for none.
func (d Undos) tenantName(ctx context.Context, id int64) (name string, err error) {
	err = d.db.Get(ctx, &name, `select coalesce((select name from tenants where id = $1 and erased_at is null), '')`, id)
	return name, err
}

// Latest returns the entries of the latest change of the session's login that can be taken back and was not. What an undo changed is
// passed over, so that one undo after another goes further back. It returns ErrEntryNotFound.
func (d Undos) Latest(ctx context.Context) (numbers []int64, err error) {
	readable, err := d.readable(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the latest change: %w", err)
	}
	var before audit.Entry
	for range latestChanges {
		change, err := d.changeBefore(ctx, readable, before)
		if err != nil || len(change) == 0 {
			return nil, cmp.Or(err, ErrEntryNotFound)
		}
		before = change[0].Entry
		ok, err := d.possible(ctx, change)
		if err != nil {
			return nil, fmt.Errorf("find the latest change: %w", err)
		}
		if ok {
			for _, e := range change {
				numbers = append(numbers, e.Number)
			}
			return numbers, nil
		}
	}
	return nil, ErrEntryNotFound
}

// readable is the relation of the entries that the login may read: the table where it may, because the view hides the order of an index.
func (d Undos) readable(ctx context.Context) (relation string, err error) {
	err = d.db.Get(ctx, &relation, `select case when has_table_privilege('audit_entries', 'select') then 'audit_entries' else 'role_audit_entries' end`)
	return relation, err
}

// latestEntry finds the latest entry of the login before an instant and a number that is not older than UndoAge, in this relation.
const latestEntry = `
	select a.number, coalesce(u.first_number, a.number) as first_number from %s a left join undo_values u on u.number = a.number
	where a.login = session_user::text collate "default" and a.at >= now() - interval '30 days'
	  and (a.at, a.number) < (coalesce($1::timestamptz, 'infinity'), $2::bigint)
	order by a.at desc, a.number desc limit 1`

// changeBefore returns the entries of the login's latest change before an entry, in their order: nil for none. The zero entry stands for
// the end of the trail.
func (d Undos) changeBefore(ctx context.Context, readable string, before audit.Entry) ([]entryToUndo, error) {
	var last struct {
		Number int64 `db:"number"`
		First  int64 `db:"first_number"`
	}
	err := d.db.Get(ctx, &last, fmt.Sprintf(latestEntry, readable), nullTime(before.At), before.Number)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the latest change: %w", err)
	}
	change, err := pgconn.Collect(ctx, d.db, undoRow.entry,
		selectRoleAudit+` where a.number between $1 and $2 and coalesce(u.first_number, a.number) = $1 order by a.number`, last.First, last.Number)
	if err != nil {
		return nil, fmt.Errorf("find the latest change: %w", err)
	}
	return change, nil
}

// possible reports whether all entries of a change can be taken back, as far as the entries themselves tell.
func (d Undos) possible(ctx context.Context, change []entryToUndo) (bool, error) {
	if slices.ContainsFunc(change, func(e entryToUndo) bool { return !Undoable(e.Action) || e.old || e.Undoes != 0 }) {
		return false, nil
	}
	later, err := d.later(ctx, change)
	if err != nil {
		return false, err
	}
	taken := map[int64]bool{}
	for _, e := range slices.Backward(change) {
		if found := e.FindLater(later[e.Subject], taken); found.UndoneBy != nil || found.StandsUpon != nil {
			return false, nil
		}
		taken[e.Number] = true
	}
	return true, nil
}
