package trail_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// newTrail is an office with eight entries, of all kinds of values.
func newTrail(t *testing.T) fixture.Office {
	t.Helper()
	o := fixture.NewAcme(t)
	key, _ := o.Issue(t, "acme")
	o.Exec(t, `insert into audit_entries (claimed_actor, action, subject, before, after, reason) values
		('Zoë "z" \ 犬', 'x.y', '', '{"b": 1.50, "aa": [true, null, "\u0001\u00e4\\"], "a": {}}', '{}',
			E'a,b:c\n7:\t\u2028')`)
	o.Ban(t, key.ID, 1e9, fixture.Noon)
	name := "nightly"
	_, _, err := o.Service().Edit(t.Context(), fixture.Jo, key.ID, keys.Edit{Name: &name})
	assert.NoError(t, err)
	o.Tenant(t, "zoo", plans.Free)
	o.Tenant(t, "globex", plans.Free)
	o.Tenant(t, "umbrella", plans.Free)
	return o
}

func TestVerifyAnIntactTrail(t *testing.T) {
	t.Parallel()
	o := newTrail(t)
	last, fault := o.Verify(t, nil)
	if fault != nil || last.Number != 8 {
		t.Fatalf("%v, %v", last, fault)
	}
	for _, setting := range []string{"timezone = 'Asia/Kolkata'", "datestyle = 'German, DMY'",
		"bytea_output = escape"} {
		o.Exec(t, `alter database `+o.Text(t, `select current_database()`)+` set `+setting)
	}
	other := storetest.Open(t, o.URL, store.Options{})
	_, err := other.Tenants.Create(
		t.Context(),
		fixture.Jo,
		tenancy.NewTenant{Name: "later", Plan: plans.Free},
		fixture.Noon,
	)
	assert.NoError(t, err)
	o.WantIntact(t, 9)
	if _, fault := o.Verify(t, &last); fault != nil {
		t.Errorf("with the checkpoint of an earlier time: %v", fault)
	}
}

var copies atomic.Int64

// copyTrail returns the office with a copy of the trail in another schema, which is faster than
// another database.
func copyTrail(t *testing.T, o fixture.Office) fixture.Office {
	t.Helper()
	schema := fmt.Sprintf("copy_%d", copies.Add(1))
	o.Exec(t, strings.ReplaceAll(`
		create schema copy;
		create table copy.audit_entries (like audit_entries including all);
		create table copy.audit_head (like audit_head including all);
		insert into copy.audit_entries select * from audit_entries;
		insert into copy.audit_head select * from audit_head;
		do $triggers$
		declare
		  t record;
		begin
		  for t in select *, pg_get_triggerdef(oid) as definition, tgrelid::regclass as tab from pg_trigger
		    where tgrelid in ('audit_entries'::regclass, 'audit_head'::regclass) and not tgisinternal
		  loop
		    execute replace(t.definition, ' ON public.', ' ON copy.');
		    if t.tgenabled = 'A' then
		      execute format('alter table copy.%s enable always trigger %I', t.tab, t.tgname);
		    end if;
		  end loop;
		end $triggers$`,
		"copy", schema))
	url := o.URL + "&search_path=" + schema + ",public"
	return fixture.Office{
		DB:       storetest.Open(t, url, store.Options{}),
		Database: fixture.Database{Database: &storetest.Database{URL: url}},
	}
}

// TestVerifyFindsFaults plants each fault as the owner of the tables could.
func TestVerifyFindsFaults(t *testing.T) {
	t.Parallel()
	const changed = "entry %d was changed: its hash is not that of its content"
	copyOf5 := func(number, hash string) string {
		return `insert into audit_entries select ` + number + `, at, claimed_actor, action, tenant_id, subject,
		  before, after,
			reason, login, address, prev, ` + hash + ` from audit_entries where number = 5`
	}
	trail := newTrail(t)
	for name, test := range map[string]struct {
		statement string
		number    int64
		want      string
	}{
		"changed before": {`update audit_entries set before = before || '{"last4": "0000"}' where number = 5`, 5,
			fmt.Sprintf(changed, 5)},
		"removed before": {`update audit_entries set before = null where number = 5`, 5, fmt.Sprintf(changed, 5)},
		"changed after":  {`update audit_entries set after = '{}' where number = 2`, 2, fmt.Sprintf(changed, 2)},
		"changed reason": {`update audit_entries set reason = 'x' where number = 1`, 1, fmt.Sprintf(changed, 1)},
		"changed time": {`update audit_entries set at = at + interval '1 microsecond' where number = 8`, 8,
			fmt.Sprintf(changed, 8)},
		"changed login": {`update audit_entries set login = 'jo' where number = 3`, 3, fmt.Sprintf(changed, 3)},
		"added address": {`update audit_entries set address = '192.0.2.1' where number = 3`, 3,
			fmt.Sprintf(changed, 3)},
		"changed claim": {`update audit_entries set claimed_actor = 'al' where number = 3`, 3,
			fmt.Sprintf(changed, 3)},
		"changed action":  {`update audit_entries set action = 'x.z' where number = 3`, 3, fmt.Sprintf(changed, 3)},
		"changed tenant":  {`update audit_entries set tenant_id = 2 where number = 4`, 4, fmt.Sprintf(changed, 4)},
		"removed tenant":  {`update audit_entries set tenant_id = null where number = 4`, 4, fmt.Sprintf(changed, 4)},
		"changed subject": {`update audit_entries set subject = 'key_x' where number = 4`, 4, fmt.Sprintf(changed, 4)},
		"changed prev":    {`update audit_entries set prev = sha256('x') where number = 4`, 4, fmt.Sprintf(changed, 4)},
		"changed hash":    {`update audit_entries set hash = sha256('x') where number = 4`, 4, fmt.Sprintf(changed, 4)},
		"moved text": {
			`update audit_entries set claimed_actor = claimed_actor || left(action, 1), action = substr(action, 2)
				where number = 4`,
			4, fmt.Sprintf(changed, 4),
		},
		"no instant":    {`update audit_entries set at = 'infinity' where number = 3`, 3, fmt.Sprintf(changed, 3)},
		"a far instant": {`update audit_entries set at = '4000-01-01 BC' where number = 3`, 3, fmt.Sprintf(changed, 3)},
		"no login": {
			`alter table audit_entries alter login drop not null; update audit_entries set login = null where number =
				3`,
			3, fmt.Sprintf(changed, 3),
		},
		"a long hash": {
			`alter table audit_entries drop constraint audit_entries_hash_check; update audit_entries set hash = hash
				|| '\x00' where number = 3`,
			3, fmt.Sprintf(changed, 3),
		},
		"missing":          {`delete from audit_entries where number = 4`, 4, "entry 4 is missing"},
		"all missing":      {`truncate audit_entries`, 1, "entries 1 to 8, the last, are missing"},
		"the last missing": {`delete from audit_entries where number = 8`, 8, "entry 8, the last, is missing"},
		"inserted between": {
			`update audit_entries set number = -number where number > 5; update audit_entries set number = 1 - number
				where number < 0;` +
				copyOf5("6", "hash"), 6, fmt.Sprintf(changed, 6),
		},
		"inserted twice": {
			`alter table audit_entries drop constraint audit_entries_pkey;` + copyOf5("5", "hash"),
			5, "entry 5 was inserted: there are two of that number",
		},
		"inserted without a number": {
			`alter table audit_entries drop constraint audit_entries_pkey, alter number drop not null;` +
				copyOf5("null", "hash"),
			8, "1 entries are too many: they were inserted with a number of another, or with none",
		},
		"inserted after all": {copyOf5("9", "sha256('x')"), 9, fmt.Sprintf(changed, 9)},
		"swapped": {
			`update audit_entries set number = case number when 4 then -5 else -4 end where number in (4, 5);
			update audit_entries set number = -number where number < 0`, 4, fmt.Sprintf(changed, 4),
		},
		"no head": {`delete from audit_head`, 8, "the head is missing: entries after 8 may have been removed"},
		"no trigger": {
			`drop trigger audit_refuse on audit_entries`, 8,
			"the trigger audit_refuse of audit_entries is missing, disabled or another: entries can be forged or " +
				"changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := copyTrail(t, trail)
			o.WantIntact(t, 8)
			// Negative numbers help to shift the others.
			statement := "alter table audit_entries drop constraint audit_entries_number_check;" + test.statement
			assert.NoError(t, storetest.ForgeAudit(t.Context(), o.URL, statement))
			last, fault := o.Verify(t, nil)
			if fault == nil || fault.Number != test.number || fault.What != test.want {
				t.Errorf(
					"found %+v after %d intact entries, want entry %d: %s",
					fault,
					last.Number,
					test.number,
					test.want,
				)
			}
		})
	}
}

// TestVerifyFindsARewrittenTrail: who computes all hashes anew is found by a checkpoint that was
// noted before.
func TestVerifyFindsARewrittenTrail(t *testing.T) {
	t.Parallel()
	o := newTrail(t)
	noted, _ := o.Verify(t, nil)
	assert.NoError(t, storetest.RewriteAudit(t.Context(), o.URL, `if e.number = 5 then e.reason := 'x'; end if`))
	o.WantIntact(t, 8) // The chain alone does not show it.
	want := "entry 8 is not that of the checkpoint: it or an earlier one was written anew"
	if _, fault := o.Verify(t, &noted); fault == nil || fault.Number != 8 || fault.What != want {
		t.Errorf("found %+v", fault)
	}
	later := audit.Checkpoint{Number: 11, Hash: noted.Hash}
	if _, fault := o.Verify(
		t,
		&later,
	); fault == nil || fault.Number != 9 ||
		fault.What != "entries 9 to 11 are missing: the checkpoint is of entry 11" {
		t.Errorf("found %+v", fault)
	}
}

// TestVerifyFindsASilentTrigger: each trigger of the trail is missed if it is gone, or does not
// fire always and for every row.
func TestVerifyFindsASilentTrigger(t *testing.T) {
	t.Parallel()
	o := newTrail(t)
	for name, table := range map[string]string{
		"audit_append": "audit_entries", "audit_refuse": "audit_entries", "audit_refuse_row": "audit_entries",
		"audit_head_refuse": "audit_head", "audit_head_refuse_row": "audit_head", "audit_head_refuse_all": "audit_head",
	} {
		c := copyTrail(t, o)
		c.WantIntact(t, 8)
		var definition string
		owner := fixture.Connect(t, c.URL)
		err := owner.Get(
			&definition,
			`select pg_get_triggerdef(oid) from pg_trigger where tgname = $1 and tgrelid = $2::text::regclass`,
			name,
			table,
		)
		assert.NoError(t, err)
		never := strings.Replace(definition, "EXECUTE FUNCTION", "WHEN (pg_trigger_depth() > 9) EXECUTE FUNCTION", 1)
		drop := "drop trigger " + name + " on " + table
		for _, statement := range []string{
			"alter table " + table + " disable trigger " + name,
			"alter table " + table + " enable replica trigger " + name,
			drop,
			never + "; alter table " + table + " enable always trigger " + name,
		} {
			owner.MustExec(statement)
			want := "the trigger " + name + " of " + table +
				" is missing, disabled or another: entries can be forged or changed"
			if _, fault := c.Verify(t, nil); fault == nil || fault.What != want {
				t.Errorf("%s: found %+v", statement, fault)
			}
		}
	}
}

// TestVerifyFindsAView: a view that shows an intact trail does not pass for the table.
func TestVerifyFindsAView(t *testing.T) {
	t.Parallel()
	o := newTrail(t)
	o.Exec(t, `alter table audit_entries rename to hidden; create view audit_entries as select * from hidden;
		grant select on audit_entries to petstore_support`)
	want := "the trigger audit_append of audit_entries is missing, disabled or another: entries can be forged or " +
		"changed"
	if _, fault := o.Verify(t, nil); fault == nil || fault.What != want {
		t.Errorf("found %+v", fault)
	}
}
