package trail_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// TestAuditIsAppendOnly: plain SQL changes neither the entries nor the head, not even as their
// owner and a superuser.
func TestAuditIsAppendOnly(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	before := o.Everything(t)
	for _, statement := range []string{
		`update audit_entries set reason = 'x'`,
		`update audit_entries set reason = 'x' where false`,
		`delete from audit_entries`,
		`truncate audit_entries`,
		`truncate audit_entries, audit_head cascade`,
		`insert into audit_entries (claimed_actor, action, subject) values ('', '', '') on conflict (number) do update
			set reason = 'x'`,
		`merge into audit_entries a using price_list on a.number = 1 when matched then delete`,
		`update audit_entries_1 set reason = 'x'`,
		`delete from audit_entries_1`,
		`truncate audit_entries_1`,
		`set session_replication_role = replica; delete from audit_entries_1`,
		`set session_replication_role = replica; delete from audit_entries`,
		`set session_replication_role = replica; update audit_head set number = 0`,
		`update audit_head set number = 0`,
		`delete from audit_head`,
		`truncate audit_head`,
	} {
		o.Refuses(t, statement)
	}
	assert.DeepEqual(t, o.Everything(t), before, "the database changed")
}

// TestAuditEntriesCantBeForged: what the inserter gives for the members that Postgres sets is
// overwritten.
func TestAuditEntriesCantBeForged(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	start := time.Now()
	o.Exec(t, `
		insert into audit_entries (number, at, login, address, claimed_actor, action, tenant_id, subject, prev, hash)
		values (77, '2020-01-01Z', 'somebody', '192.0.2.1', 'jo', 'key.revoke', 1, 'key_x', sha256('x'), sha256('y')),
		       (1, 'infinity', '', null, 'jo', 'key.revoke', null, 'key_x', sha256('x'), null)`)
	entries, err := store.Collect(o.Audit.List(t.Context(), trail.Filter{Limit: 10}))
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for i, e := range entries {
		login := []string{"postgres", "postgres", storetest.SupportLogin}[i]
		if e.Number != int64(3-i) || e.Login != login || e.Address != "" || e.Hash != e.Sum() ||
			e.At.Before(start.Add(-time.Minute)) || e.At.After(time.Now().Add(time.Minute)) {
			t.Errorf("entry %+v", e)
		}
	}
	o.WantIntact(t, 3)
}

// TestNoEntryBreaksTheTrail: whatever somebody inserts who may, the trail can be verified
// afterwards.
func TestNoEntryBreaksTheTrail(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	support := fixture.Connect(t, o.SupportURL)
	var intact int64 = 1
	for values, taken := range map[string]bool{
		`'', '', null, '', null, null, ''`:                                                  true,
		`'', '', 9223372036854775807, '', '{}', '{"n": 1e400, "a": -0.0}', E'\u0001\u202e'`: true,
		// Has the hash of none.
		`'', '', 0, '', null, null, ''`:                                             false,
		`'', '', -1, '', null, null, ''`:                                            false,
		`'', '', null, '', 'null', null, ''`:                                        false,
		`'', '', null, '', null, null, repeat('x', 16000)`:                          true,
		`'', '', null, '', null, null, repeat('x', 16384)`:                          false,
		`'', '', null, '', jsonb_build_object('x', repeat('x', 1000000)), null, ''`: false,
	} {
		_, err := support.Exec(
			`insert into audit_entries (claimed_actor, action, tenant_id, subject, before, after, reason) values (` +
				values + `)`,
		)
		if taken != (err == nil) ||
			err != nil && pq.As(err, pqerror.CheckViolation, pqerror.ProgramLimitExceeded) == nil {
			t.Errorf("%s: %v", values, err)
		}
		if taken {
			intact++
		}
	}
	o.WantIntact(t, intact)
}

// TestAuditLogin: the login is that of the session, even in another role and in a function that has
// its owner's rights.
func TestAuditLogin(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	key, _ := o.Issue(t, "acme")
	server := fixture.Connect(t, storetest.As(t, o.URL, storetest.APILogin))
	server.SetMaxOpenConns(1)
	server.MustExec(`set role petstore_api`)
	server.MustExec(`select place_automatic_ban($1, $2)`, key.TenantID, key.ID)
	entries, err := store.Collect(o.Audit.List(t.Context(), trail.Filter{Limit: 1}))
	if err != nil || len(entries) != 1 || entries[0].Login != "api_server" || entries[0].ClaimedActor != "petstore" {
		t.Errorf("entries %+v, %v", entries, err)
	}
	if _, err := server.Exec(`select 1 from audit_head`); pq.As(err, pqerror.InsufficientPrivilege) == nil {
		t.Errorf("a server reads the head: %v", err)
	}
}

// TestAuditWritersAtOnce: writers at the same time, some of which roll back, leave an unbroken
// chain.
func TestAuditWritersAtOnce(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	const writers, changes = 8, 10
	fixture.AtOnce(t, writers, writers, nil, func(w int) error {
		for i := range changes {
			n := tenancy.NewTenant{Name: fmt.Sprintf("tenant-%d-%d", w, i), Plan: plans.Free}
			if _, err := o.Tenants.Create(t.Context(), fixture.Dry, n, fixture.Noon); err != nil {
				return err
			}
			if _, err := o.Tenants.Create(t.Context(), fixture.Jo, n, fixture.Noon); err != nil {
				return err
			}
			if _, err := o.Tenants.Create(
				t.Context(),
				fixture.Jo,
				n,
				fixture.Noon,
			); !errors.Is(
				err,
				plans.ErrTenantExists,
			) {
				return fmt.Errorf("the same tenant again: %w", err)
			}
		}
		return nil
	})
	o.WantIntact(t, writers*changes)
}

// TestAuditLockEnds: a client that freezes between its entry and its commit does not lock the trail
// for long.
func TestAuditLockEnds(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	for setting, want := range map[string]string{"0": "10s", "3s": "3s"} {
		tx := o.Owner.MustBeginTx(t.Context(), nil)
		tx.MustExec(`set local idle_in_transaction_session_timeout = '` + setting + `'`)
		tx.MustExec(`insert into audit_entries (claimed_actor, action, subject) values ('', '', '')`)
		var got string
		if err := tx.Get(&got, `show idle_in_transaction_session_timeout`); err != nil || got != want {
			t.Errorf("with a timeout of %s: %s, %v, want %s", setting, got, err, want)
		}
		assert.NoError(t, tx.Commit())
	}
	assert.Equal(t, o.Text(t, `show idle_in_transaction_session_timeout`), "0", "after the commit")
}

// TestAuditTriggersCantBeBorrowed: nobody but the owner lets the trigger number the rows of another
// table, which would move the head.
func TestAuditTriggersCantBeBorrowed(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	o.Exec(t, `grant temporary on database `+o.Text(t, `select current_database()`)+` to petstore_support`)
	support := fixture.Connect(t, o.SupportURL)
	_, err := support.ExecContext(t.Context(), `
		create temp table mine (like audit_entries);
		create trigger mine before insert on mine for each row execute function audit_append()`)
	if e := pq.As(err, pqerror.InsufficientPrivilege); e == nil || !strings.Contains(e.Message, "audit_append") {
		t.Errorf("a trigger on another table: %v", err)
	}
}
