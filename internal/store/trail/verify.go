package trail

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
)

// auditBatch is the number of entries read at once. Each batch is a call with a time limit of its
// own, and memory holds one.
const auditBatch = 2000

// Verify reads the whole trail through the verifier, in batches. It returns the first fault, nil
// for an intact trail. The trail may grow meanwhile.
func (d Audit) Verify(ctx context.Context, v *audit.Verifier) (_ *audit.Fault, err error) {
	defer pgconn.Wrap(&err, "verify the audit trail")
	return d.verify(ctx, v)
}

func (d Audit) verify(ctx context.Context, v *audit.Verifier) (*audit.Fault, error) {
	begin, err := BeginningOf(ctx, d.db)
	if err != nil {
		return nil, err
	}
	v.Begin = begin
	for {
		if fault, err := d.verifyEntries(ctx, v); fault != nil || err != nil {
			return fault, err
		}
		end, err := d.end(ctx)
		if err != nil {
			return nil, err
		}
		if last, _ := v.Last(); end.Last > last.Number {
			continue // written after the last batch
		}
		if fault := v.End(end.head(), end.Count); fault != nil {
			return fault, nil
		}
		return d.checkTriggers(ctx, v)
	}
}

// verifyEntries reads batches until there is no further entry.
func (d Audit) verifyEntries(ctx context.Context, v *audit.Verifier) (*audit.Fault, error) {
	var rows []Row
	for {
		rows = rows[:0]
		after := int64(math.MinInt64) // An inserted entry may have any number.
		if last, _ := v.Last(); last.Number > 0 {
			after = last.Number
		}
		err := d.db.Select(ctx, &rows, `
			select `+Columns+`, '' as tenant_name from audit_entries a
			where a.number > $1 order by a.number limit $2`, after, auditBatch)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		for _, row := range rows {
			e := row.Entry()
			if fault := v.Add(&e); fault != nil {
				return fault, nil
			}
		}
	}
}

// BeginningOf returns the last entry that was removed because of its age, zero for none.
func BeginningOf(ctx context.Context, q pgconn.Queryer) (audit.Checkpoint, error) {
	var row struct {
		Number int64
		Hash   []byte
	}
	err := q.Get(ctx, &row, `select number, hash from audit_beginning`)
	if errors.Is(err, sql.ErrNoRows) {
		return audit.Checkpoint{}, nil
	}
	return audit.Checkpoint{Number: row.Number, Hash: hashOf(row.Hash)}, err
}

// auditEnd is the end of the trail, as one statement sees it.
type auditEnd struct {
	Number sql.NullInt64 `db:"number"`
	Hash   []byte        `db:"hash"`
	Last   int64         `db:"last"`
	Count  int64         `db:"count"`
}

func (e auditEnd) head() *audit.Checkpoint {
	if !e.Number.Valid {
		return nil
	}
	return &audit.Checkpoint{Number: e.Number.Int64, Hash: hashOf(e.Hash)}
}

func (d Audit) end(ctx context.Context) (end auditEnd, err error) {
	err = d.db.Get(ctx, &end, `
		select h.number, h.hash, e.last, e.count
		from (select coalesce(max(number), 0) as last, count(*) as count from audit_entries) e left join audit_head h
			on true`)
	return end, err
}

// missingTriggers lists the triggers of the trail and its partitions that are missing, disabled or
// conditional, or run another function.
const missingTriggers = `
	select want.name || ' of ' || (select relname from pg_class where oid = tab.oid)
	from (values
	  ('audit_append', 'audit_entries', 'audit_append', 'OA'),
	  ('audit_refuse', 'audit_entries', 'audit_refuse', 'A'),
	  ('audit_refuse_row', 'audit_entries', 'audit_refuse', 'A'),
	  ('audit_head_refuse', 'audit_head', 'audit_head_refuse', 'A'),
	  ('audit_head_refuse_row', 'audit_head', 'audit_refuse', 'A'),
	  ('audit_head_refuse_all', 'audit_head', 'audit_refuse', 'A')
	) want (name, tab, function, enabled)
	cross join lateral (
	  select to_regclass(want.tab)::oid as oid, 0 as partition
	  union all
	  select i.inhrelid, 1 from pg_inherits i where i.inhparent = to_regclass(want.tab)
	) tab
	where not exists (
	  select from pg_trigger t join pg_proc p on p.oid = t.tgfoid
	  where t.tgrelid = tab.oid and t.tgname = want.name and p.proname = want.function
	    and strpos(want.enabled, t.tgenabled::text) > 0 and t.tgqual is null
	)
	order by tab.partition`

// checkTriggers finds a trail that is intact but no longer protected, so that newer entries may be
// forged.
func (d Audit) checkTriggers(ctx context.Context, v *audit.Verifier) (*audit.Fault, error) {
	names, err := pgconn.Collect(ctx, d.db, func(n string) string { return n }, missingTriggers)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	last, _ := v.Last()
	return &audit.Fault{
		Number: last.Number,
		What:   "the trigger " + names[0] + " is missing, disabled or another: entries can be forged or changed",
	}, nil
}
