package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
)

// usageOf is everything that reports show of October, without what only hours have.
func usageOf(t *testing.T, b *fixture.Books) (all []any) {
	t.Helper()
	for _, by := range []billing.UsageBy{billing.ByTenantAndPlan, billing.ByTenant, billing.ByPlan, billing.ByKey,
		billing.ByDay} {
		query := billing.UsageQuery{From: fixture.Oct, To: fixture.Nov, By: by}
		for row, err := range b.Billing.Usage.Report(t.Context(), query) {
			assert.NoError(t, err)
			all = append(all, row)
		}
	}
	err := b.Billing.Usage.EachDay(
		t.Context(),
		billing.DaysQuery{From: fixture.Oct, To: fixture.Nov},
		func(tenant int64, day usage.RecordedDay) {
			day.Busy = nil
			all = append(all, tenant, day)
		},
	)
	assert.NoError(t, err)
	return append(all, b.Lines(t, fixture.Oct), b.Verify(t, fixture.Oct))
}

// TestRollUp: hours of a closed month become days with the same sums, in batches of any size.
// Reports, lines and the verification say the same before and after; the partition is gone.
func TestRollUp(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 1000} {
		b := fixture.NewBooks(t)
		b.Fill(t)
		b.Deliver(t, "s1", fixture.Nov, fixture.Used(fixture.Pro, fixture.Oct.Add(34*time.Hour), 70, 3))
		b.Deliver(t, "s1", fixture.Dec, fixture.Used(fixture.Business, fixture.Nov.Add(time.Hour), 5, 0))
		b.Close(t, fixture.Oct)
		b.EndPartition(t, fixture.Nov)
		before := usageOf(t, b)
		assert.Equal(t, b.RollUp(t, most), 4, "batches of", most, "hours were summed")
		assert.DeepEqual(t, usageOf(t, b), before, "batches of", most, "-before +after")
		if got := b.Text(
			t,
			`select hours || ' ' || days || ' ' || admitted || ' ' || refused from usage_partitions where rolled_at is
				not null`,
		); got != "4 3 52210 15" {
			t.Errorf("batches of %d: %s", most, got)
		}
		if got := b.Text(
			t,
			`select string_agg(to_char(hour at time zone 'UTC', 'MM-DD HH24') || ' ' || admitted, ', ' order by hour)
				from usage_in_time`,
		); got !=
			"10-02 00 8100, 10-20 00 10, 10-20 00 44100, 11-01 01 5" &&
			got != "10-02 00 8100, 10-20 00 44100, 10-20 00 10, 11-01 01 5" {
			t.Errorf("batches of %d: %s", most, got)
		}
		if got := b.Text(
			t,
			`select count(*) from pg_class where relname ~ '^usage_hourly_until_[0-9_]*$' and relkind = 'r'`,
		); got != "0" {
			t.Errorf("batches of %d: the hours are still there", most)
		}
		wantByDay(t, b)
	}
}

// wantByDay: what needs the hours of October says that there are none, and days are not changed.
func wantByDay(t *testing.T, b *fixture.Books) {
	t.Helper()
	var byDay billing.ByDayError
	for _, err := range b.Billing.Usage.Report(t.Context(),
		billing.UsageQuery{From: fixture.Oct, To: fixture.Nov, By: billing.ByHour}) {
		if !errors.As(err, &byDay) || !byDay.Until.Equal(fixture.Nov) {
			t.Errorf("a report by hour: %v", err)
		}
	}
	err := b.Billing.Events.Send(t.Context(), fixture.Bill, billing.EventQuery{From: fixture.Oct, To: fixture.Dec}, nil)
	assert.True(t, errors.As(err, &byDay), "events", err)
	for _, statement := range []string{`update usage_daily set admitted = 1`, `delete from usage_daily`,
		`truncate usage_daily`,
		`insert into usage_daily select * from usage_daily`} {
		if err := fixture.Attempt(
			t,
			b.Owner,
			`reset role`,
			statement,
		); err == nil ||
			!strings.Contains(err.Error(), "never changed") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	b.Deliver(t, "s1", fixture.Dec, fixture.Used(fixture.Pro, fixture.Oct.Add(34*time.Hour), 1, 0))
	assert.Equal(t, b.Text(t, `select sum(admitted) from usage_late`), "1", "late usage of a month that is by day")
}

// TestRollUpIsLocked: while others read usage, the days are not put in the place of the hours,
// which are not read either. The month after follows at once.
func TestRollUpIsLocked(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Close(t, fixture.Oct)
	b.EndPartition(t, fixture.Nov)
	prune := func(wantHours int, wantMore bool, want error) {
		t.Helper()
		hours, more, err := b.API.Retention.Prune(t.Context(), admin.RetentionUsage, 1000)
		if hours != wantHours || more != wantMore || !errors.Is(err, want) {
			t.Errorf("%d hours, more %v, %v; want %d, %v, %v", hours, more, err, wantHours, wantMore, want)
		}
	}
	prune(3, true, nil)
	tx := fixture.Connect(t, b.URL).MustBegin()
	tx.MustExec(`select count(*) from usage_hourly`)
	b.Exec(
		t,
		`set session_replication_role = replica; update usage_hourly set admitted = admitted + 1 where assignment = 3`,
	)
	prune(0, false, admin.ErrRetentionLocked)
	b.Exec(
		t,
		`set session_replication_role = replica; update usage_hourly set admitted = admitted - 1 where assignment = 3`,
	)
	b.Want(t, "0", `select count(run_at) from retention where kind = 'hourly_usage'`)
	assert.NoError(t, tx.Rollback())
	prune(0, true, nil)
	prune(0, false, nil)
	b.Want(t, "1", `select count(run_at) from retention where kind = 'hourly_usage'`)
}

// TestRollUpWaits: for the month to be closed, for the hours to be old enough, and for the
// migration to be some days ago.
func TestRollUpWaits(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.EndPartition(t, fixture.Nov)
	wantHours := func(what, waitsFor string) {
		t.Helper()
		assert.Equal(t, b.RollUp(t, 1000), 0, what, "hours were summed")
		list, err := b.Billing.Retention.List(t.Context())
		assert.NoError(t, err)
		for _, k := range list {
			if k.Kind == admin.RetentionUsage && (k.WaitsFor.Format("2006-01") != waitsFor || k.RunAt.IsZero()) {
				t.Errorf("%s: %+v", what, k)
			}
		}
	}
	none := time.Time{}.Format("2006-01")
	wantHours("open", "2025-10")
	b.Exec(t, `insert into usage_months (month) values ('2025-10-01')`)
	wantHours("not sealed", "2025-10")
	b.Close(t, fixture.Oct)
	b.Exec(t, `update retention set keep = now() - '2025-10-31Z'`)
	wantHours("too young", none)
	b.Exec(t, `update retention set keep = least, begins_at = now() + interval '1 second' where kind = 'hourly_usage'`)
	wantHours("too early", none)
	b.Exec(t, `update retention set begins_at = now()`)
	assert.Equal(t, b.RollUp(t, 1000), 3, "at last hours were summed")
}

// TestRollUpProves: hours that are not those that were sealed stay, and so do hours of which the
// days have other sums.
func TestRollUpProves(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Close(t, fixture.Oct)
	b.EndPartition(t, fixture.Nov)
	for what, statement := range map[string]string{
		"a count":      `update usage_hourly set admitted = admitted + 1 where assignment = 3`,
		"another hour": `update usage_hourly set hour = hour + interval '1 hour' where assignment = 3`,
		"a row less":   `delete from usage_hourly where assignment = 3`,
		"a row more": `insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
			values (2, '2025-10-01Z', 'key_0000000000000002', 2, 1, 1, 0)`,
		"a sealed line": `update usage_lines set form = replace(form, '44100', '44101')`,
	} {
		b.Tampered(t, what, statement, func(t *testing.T) {
			if n, _, err := b.API.Retention.Prune(
				t.Context(),
				admin.RetentionUsage,
				1000,
			); err == nil ||
				!strings.Contains(err.Error(), "sealed") {
				t.Errorf("%d, %v", n, err)
			}
			b.Want(t, "0", `select count(*) from usage_partitions where begun_at is not null`)
		})
	}
	_, _, err := b.API.Retention.Prune(t.Context(), admin.RetentionUsage, 1000)
	assert.NoError(t, err)
	b.Exec(
		t,
		`set session_replication_role = replica; update usage_hourly set admitted = admitted + 1 where assignment = 3`,
	)
	if _, _, err := b.API.Retention.Prune(
		t.Context(),
		admin.RetentionUsage,
		1000,
	); err == nil ||
		!strings.Contains(err.Error(), "sums") {
		t.Errorf("hours that were changed after they were summed: %v", err)
	}
	b.Exec(
		t,
		`set session_replication_role = replica; update usage_hourly set admitted = admitted - 1 where assignment = 3`,
	)
	if got := b.RollUp(t, 1000); got != 0 || b.Verify(t, fixture.Oct) != "" {
		t.Errorf("the last step: %d hours, %s", got, b.Verify(t, fixture.Oct))
	}
}

// TestPruneKeys: bans and keys are removed when they ended long enough ago, and usage keeps the ID
// of the key.
func TestPruneKeys(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Exec(t, `
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at, expires_at, revoked_at)
		select 'key_000000000000001' || n, 1, 'live', sha256((10 + n)::text::bytea), '0001', '2020-01-01Z', expires,
			revoked
		from (values (1, null, now() - interval '366 days'), (2, null, now() - interval '364 days'), (3, now() -
			interval '366 days', null),
		             (4, now() - interval '364 days', null), (5, null, null), (6, null, now() - interval '900 days'),
		                 (7, null, now() - interval '900 days')
		     ) k (n, expires, revoked);
		insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at, lifted_at)
		select 1, 'key_000000000000001' || n, 'staff', '', ends - interval '1 hour', ends, lifted
		from (values (6, now() + interval '1 day', null), (7, now() - interval '366 days', null), (7, now() - interval
			'364 days', now() - interval '400 days'), (5, now() - interval '364 days', null)) b (n, ends, lifted);
		insert into failed_requests (tenant_id, server_id, number, key_id, at, request_id, code, plan, limited_by,
			allowed, partial, method, route, suppressed, status, reason, took_micros)
		values (1, 's', 1, 'key_0000000000000011', now(), '', '', '', '', 0, false, '', '', 0, 401, '', 0)`)
	prune := func(kind string, most, want int) {
		t.Helper()
		if got, _, err := b.API.Retention.Prune(t.Context(), kind, most); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", kind, got, err, want)
		}
	}
	prune(admin.RetentionBans, 10, 0)
	prune(admin.RetentionKeys, 10, 0)
	b.Exec(t, `update retention set begins_at = now(), run_at = null`)
	owner, err := store.Open(t.Context(), b.URL, store.Options{})
	assert.NoError(t, err)
	defer owner.Close()
	due, err := owner.Retention.Due(t.Context())
	want := []admin.Removed{
		{Kind: "audit"},
		{Kind: "bans", Rows: 2},
		{Kind: "ended_keys", Rows: 3},
		{Kind: "failed_requests"},
		{Kind: "hourly_usage"},
	}
	assert.Result(t, due, err, want, "due")
	prune(admin.RetentionKeys, 1, 1)
	prune(admin.RetentionBans, 10, 2)
	b.Want(t, "0", `select count(run_at) from retention where kind = 'ended_keys'`)
	prune(admin.RetentionKeys, 10, 2)
	b.Want(t, "1", `select count(run_at) from retention where kind = 'ended_keys'`)
	b.Want(t, "01 02 12 14 15 16", `select string_agg(right(id, 2), ' ' order by id) from api_keys`)
	assert.Equal(t, b.Text(t, `select removed from retention where kind = 'ended_keys'`), "3", "removed")
}

// TestRetentionTakesTurns: a session that finds another one at work says so.
func TestRetentionTakesTurns(t *testing.T) {
	t.Parallel()
	b := fixture.NewBooks(t)
	tx := fixture.Connect(t, b.URL).MustBegin()
	tx.MustExec(`select retention_turn()`)
	_, _, err := b.API.Retention.Prune(t.Context(), admin.RetentionBans, 1)
	assert.ErrorIs(t, err, admin.ErrRetentionBusy, "while another one works")
	assert.NoError(t, tx.Rollback())
	_, _, err = b.API.Retention.Prune(t.Context(), admin.RetentionBans, 1)
	assert.Equal(t, err, nil)
}

// TestAddPartitions: months to come get partitions, and what was recorded of them before.
func TestAddPartitions(t *testing.T) {
	t.Parallel()
	b := fixture.NewBooks(t)
	_, err := b.API.Retention.AddPartitions(t.Context()) // A month may have begun since the template was made.
	assert.NoError(t, err)
	made, err := b.API.Retention.AddPartitions(t.Context())
	assert.Result(t, made, err, 0, "nothing to make")
	b.Exec(t, `
		do $$
		declare
		  last usage_partitions := (select p from usage_partitions p order by ends desc limit 1);
		begin
		  execute format('drop table %I', last.name);
		  delete from usage_partitions where name = last.name;
		  insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
		  select 1, h, '`+fixture.AcmeKey+`', 1, 1, 7, 0
		  from unnest(array[last.begins + interval '5 hours', '9999-12-31Z']) h;
		end $$`)
	made, err = b.API.Retention.AddPartitions(t.Context())
	assert.Result(t, made, err, 1, "one is missing")
	b.Want(t, "9999", `select string_agg(extract(year from hour)::text, ' ') from usage_hourly_default`)
	assert.Equal(t, b.Text(t, `select sum(admitted) from usage_hourly`), "14", "requests")
}

// addEntry writes an entry of a year.
func addEntry(t *testing.T, o fixture.Office, year string) {
	t.Helper()
	// The trigger writes the present instant, so the chain is computed anew.
	o.Exec(t, `insert into audit_entries (claimed_actor, action, subject) values ('jo', 'x.y', '`+year+`')`)
	assert.NoError(
		t,
		storetest.RewriteAudit(
			t.Context(),
			o.URL,
			`if e.action = 'x.y' then e.at := (e.subject || '-06-15Z')::timestamptz; end if`,
		),
	)
}

// agedTrail has three partitions: of 2010, of 2015, and one for new entries with one of 2020.
func agedTrail(t *testing.T) fixture.Office {
	t.Helper()
	o := fixture.NewOffice(t)
	cut := func(want bool) {
		t.Helper()
		if got, err := o.API.Retention.CutAudit(t.Context()); err != nil || got != want {
			t.Fatalf("the trail was cut: %v, %v, want %v", got, err, want)
		}
	}
	cut(false) // It is empty.
	addEntry(t, o, "2010")
	addEntry(t, o, "2010")
	cut(true)
	cut(false)
	addEntry(t, o, "2015")
	cut(true)
	addEntry(t, o, "2020")
	o.WantIntact(t, 4)
	if got := o.Text(
		t,
		`select string_agg(name || ' ' || first || '-' || coalesce(last::text, ''), ', ' order by first) from
			audit_partitions`,
	); got !=
		"audit_entries_1 1-2, audit_entries_3 3-3, audit_entries_4 4-" {
		t.Fatal(got)
	}
	return o
}

// TestRemoveAudit: old entries go by whole partitions, the trail is verified from there on, and
// also with checkpoints.
func TestRemoveAudit(t *testing.T) {
	t.Parallel()
	o := agedTrail(t)
	at2, at3 := checkpointAt(t, o, 2), checkpointAt(t, o, 3)
	owner := storetest.Open(t, o.URL, store.Options{})
	remove := func(by audit.By, want int64) {
		t.Helper()
		if got, err := owner.Retention.RemoveAudit(t.Context(), by); err != nil || got.Entries != want {
			t.Errorf("removed %+v, %v, want %d", got, err, want)
		}
	}
	remove(fixture.Jo, 0) // In the first week.
	o.Exec(t, `update retention set begins_at = now(), keep = now() - '2014-01-01Z' where kind = 'audit'`)
	dry := fixture.Jo
	dry.DryRun = true
	remove(dry, 2)
	o.WantIntact(t, 4)
	remove(fixture.Jo, 2)
	remove(fixture.Jo, 0)
	o.WantIntact(t, 5)
	for _, noted := range []*audit.Checkpoint{&at2, &at3} {
		if _, fault := o.Verify(t, noted); fault != nil {
			t.Errorf("with the checkpoint %d: %v", noted.Number, fault)
		}
	}
	if got := o.Text(
		t,
		`select after::text from audit_entries where action = 'audit.remove'`,
	); !strings.Contains(
		got,
		`"hash": "`+at2.Hash.String()+`"`,
	) {
		t.Errorf("the entry says %s", got)
	}
	o.Exec(t, `update retention set keep = least where kind = 'audit'`)
	remove(fixture.Jo, 1)
	last, fault := o.Verify(t, &at2)
	if fault == nil ||
		fault.What != "entry 2, of the checkpoint, was removed with those up to 3: give a later checkpoint" ||
		last.Number != 6 {
		t.Errorf("with an old checkpoint: %d, %v", last.Number, fault)
	}
	other := at3
	other.Hash[0]++
	if _, fault := o.Verify(t, &other); fault == nil || !strings.Contains(fault.What, "is not that of the checkpoint") {
		t.Errorf("with another beginning: %v", fault)
	}
	o.Refuses(t, `delete from audit_entries_4`)
	if _, err := o.Retention.RemoveAudit(t.Context(), fixture.Jo); !store.IsForbidden(err) {
		t.Errorf("support removes entries: %v", err)
	}
}

// TestRemoveAuditGivesWay: while somebody reads the trail nothing is removed, and entries are
// written.
func TestRemoveAuditGivesWay(t *testing.T) {
	t.Parallel()
	o := agedTrail(t)
	o.Exec(t, `update retention set begins_at = now(), keep = now() - '2014-01-01Z' where kind = 'audit'`)
	owner := storetest.Open(t, o.URL, store.Options{})
	reader, err := o.Owner.Beginx()
	assert.NoError(t, err)
	defer func() { _ = reader.Rollback() }()
	reader.MustExec(`select from audit_entries`)
	_, err = owner.Retention.RemoveAudit(t.Context(), fixture.Jo)
	assert.ErrorIs(t, err, admin.ErrAuditBusy, "with a reader")
	o.Exec(t, `insert into audit_entries (claimed_actor, action, subject) values ('jo', 'x.y', 'z')`)
	o.WantIntact(t, 5)
	assert.NoError(t, reader.Rollback())
	if got, err := owner.Retention.RemoveAudit(t.Context(), fixture.Jo); err != nil || got.Entries != 2 {
		t.Errorf("without a reader: %+v, %v", got, err)
	}
}

// checkpointAt is that of an entry.
func checkpointAt(t *testing.T, o fixture.Office, number int64) audit.Checkpoint {
	t.Helper()
	var rows []struct {
		Number int64
		Hash   []byte
	}
	o.Rows(t, &rows, `select number, hash from audit_entries where number = $1`, number)
	return audit.Checkpoint{Number: rows[0].Number, Hash: audit.Hash(rows[0].Hash)}
}

// TestVerifyFindsAFalseBeginning: entries that somebody removed, who also owns the tables.
func TestVerifyFindsAFalseBeginning(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct{ statement, want string }{
		"dropped": {`drop table audit_entries_1`, "entries 1 to 2 are missing"},
		"dropped and said": {`update audit_beginning set number = 2, hash = (select hash from audit_entries where
			number = 2); drop table audit_entries_1`, "the entries up to 2 are missing, and no entry says that they " +
			"were removed"},
		"another hash": {`update audit_beginning set number = 2, hash = sha256(''); drop table audit_entries_1`,
			"entry 3 was replaced, or the beginning was changed: it does not hold the hash of entry 2, the last " +
				"that was removed"},
		"without triggers": {`alter table audit_entries_3 disable trigger audit_refuse_row`,
			"the trigger audit_refuse_row of audit_entries_3 is missing, disabled or another: entries can be forged " +
				"or changed"},
		"without statements": {`drop trigger audit_refuse on audit_entries_4`,
			"the trigger audit_refuse of audit_entries_4 is missing, disabled or another: entries can be forged or " +
				"changed"},
	} {
		o := agedTrail(t)
		o.Exec(t, test.statement)
		if _, fault := o.Verify(t, nil); fault == nil || fault.What != test.want {
			t.Errorf("%s: %v", what, fault)
		}
	}
}
