package store_test

import (
	"strings"
	"testing"

	"petstore.example/internal/audit"
	"petstore.example/internal/store"
	"petstore.example/internal/store/operate"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// entry writes an entry of a year.
func (o office) entry(t *testing.T, year string) {
	t.Helper()
	// The trigger writes the present instant, so the chain is computed anew.
	o.exec(t, `insert into audit_entries (claimed_actor, action, subject) values ('jo', 'x.y', '`+year+`')`)
	assert.NoError(t, storetest.RewriteAudit(t.Context(), o.URL, `if e.action = 'x.y' then e.at := (e.subject || '-06-15Z')::timestamptz; end if`))
}

// agedTrail has three partitions: of 2010, of 2015, and one for new entries with one of 2020.
func agedTrail(t *testing.T) office {
	t.Helper()
	o := newOffice(t)
	cut := func(want bool) {
		t.Helper()
		if got, err := o.api.Retention.CutAudit(t.Context()); err != nil || got != want {
			t.Fatalf("the trail was cut: %v, %v, want %v", got, err, want)
		}
	}
	cut(false) // It is empty.
	o.entry(t, "2010")
	o.entry(t, "2010")
	cut(true)
	cut(false)
	o.entry(t, "2015")
	cut(true)
	o.entry(t, "2020")
	o.wantIntact(t, 4)
	if got := o.text(t, `select string_agg(name || ' ' || first || '-' || coalesce(last::text, ''), ', ' order by first) from audit_partitions`); got !=
		"audit_entries_1 1-2, audit_entries_3 3-3, audit_entries_4 4-" {
		t.Fatal(got)
	}
	return o
}

// TestRemoveAudit: old entries go by whole partitions, the trail is verified from there on, and also with checkpoints.
func TestRemoveAudit(t *testing.T) {
	t.Parallel()
	o := agedTrail(t)
	at2, at3 := o.checkpoint(t, 2), o.checkpoint(t, 3)
	owner := storetest.Open(t, o.URL, store.Options{})
	remove := func(by audit.By, want int64) {
		t.Helper()
		if got, err := owner.Retention.RemoveAudit(t.Context(), by); err != nil || got.Entries != want {
			t.Errorf("removed %+v, %v, want %d", got, err, want)
		}
	}
	remove(jo, 0) // In the first week.
	o.exec(t, `update retention set begins_at = now(), keep = now() - '2014-01-01Z' where kind = 'audit'`)
	dry := jo
	dry.DryRun = true
	remove(dry, 2)
	o.wantIntact(t, 4)
	remove(jo, 2)
	remove(jo, 0)
	o.wantIntact(t, 5)
	for _, noted := range []*audit.Checkpoint{&at2, &at3} {
		if _, fault := o.verify(t, noted); fault != nil {
			t.Errorf("with the checkpoint %d: %v", noted.Number, fault)
		}
	}
	if got := o.text(t, `select after::text from audit_entries where action = 'audit.remove'`); !strings.Contains(got, `"hash": "`+at2.Hash.String()+`"`) {
		t.Errorf("the entry says %s", got)
	}
	o.exec(t, `update retention set keep = least where kind = 'audit'`)
	remove(jo, 1)
	last, fault := o.verify(t, &at2)
	if fault == nil || fault.What != "entry 2, of the checkpoint, was removed with those up to 3: give a later checkpoint" || last.Number != 6 {
		t.Errorf("with an old checkpoint: %d, %v", last.Number, fault)
	}
	other := at3
	other.Hash[0]++
	if _, fault := o.verify(t, &other); fault == nil || !strings.Contains(fault.What, "is not that of the checkpoint") {
		t.Errorf("with another beginning: %v", fault)
	}
	o.refuses(t, `delete from audit_entries_4`)
	if _, err := o.Retention.RemoveAudit(t.Context(), jo); !store.IsForbidden(err) {
		t.Errorf("support removes entries: %v", err)
	}
}

// TestRemoveAuditGivesWay: while somebody reads the trail nothing is removed, and entries are written.
func TestRemoveAuditGivesWay(t *testing.T) {
	t.Parallel()
	o := agedTrail(t)
	o.exec(t, `update retention set begins_at = now(), keep = now() - '2014-01-01Z' where kind = 'audit'`)
	owner := storetest.Open(t, o.URL, store.Options{})
	reader, err := o.owner.Beginx()
	assert.NoError(t, err)
	defer func() { _ = reader.Rollback() }()
	reader.MustExec(`select from audit_entries`)
	_, err = owner.Retention.RemoveAudit(t.Context(), jo)
	assert.ErrorIs(t, err, operate.ErrAuditBusy, "with a reader")
	o.exec(t, `insert into audit_entries (claimed_actor, action, subject) values ('jo', 'x.y', 'z')`)
	o.wantIntact(t, 5)
	assert.NoError(t, reader.Rollback())
	if got, err := owner.Retention.RemoveAudit(t.Context(), jo); err != nil || got.Entries != 2 {
		t.Errorf("without a reader: %+v, %v", got, err)
	}
}

// checkpoint is that of an entry.
func (o office) checkpoint(t *testing.T, number int64) audit.Checkpoint {
	t.Helper()
	var rows []struct {
		Number int64
		Hash   []byte
	}
	o.rows(t, &rows, `select number, hash from audit_entries where number = $1`, number)
	return audit.Checkpoint{Number: rows[0].Number, Hash: audit.Hash(rows[0].Hash)}
}

// TestVerifyFindsAFalseBeginning: entries that somebody removed, who also owns the tables.
func TestVerifyFindsAFalseBeginning(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct{ statement, want string }{
		"dropped":            {`drop table audit_entries_1`, "entries 1 to 2 are missing"},
		"dropped and said":   {`update audit_beginning set number = 2, hash = (select hash from audit_entries where number = 2); drop table audit_entries_1`, "the entries up to 2 are missing, and no entry says that they were removed"},
		"another hash":       {`update audit_beginning set number = 2, hash = sha256(''); drop table audit_entries_1`, "entry 3 was replaced, or the beginning was changed: it does not hold the hash of entry 2, the last that was removed"},
		"without triggers":   {`alter table audit_entries_3 disable trigger audit_refuse_row`, "the trigger audit_refuse_row of audit_entries_3 is missing, disabled or another: entries can be forged or changed"},
		"without statements": {`drop trigger audit_refuse on audit_entries_4`, "the trigger audit_refuse of audit_entries_4 is missing, disabled or another: entries can be forged or changed"},
	} {
		o := agedTrail(t)
		o.exec(t, test.statement)
		if _, fault := o.verify(t, nil); fault == nil || fault.What != test.want {
			t.Errorf("%s: %v", what, fault)
		}
	}
}
