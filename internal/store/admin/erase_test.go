package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// customers is a database with two tenants that have rows in every table: acme, whose texts hold
// the word quagga, and zoo, with okapi.
type customers struct {
	*fixture.Books
	owner *store.DB // a login that is no superuser
}

var ops = audit.By{Actor: "ops", Reason: "ticket 88"}

func newCustomers(t *testing.T) customers {
	t.Helper()
	b := fixture.NewBooks(t)
	c := customers{b, storetest.Open(t, storetest.As(t, b.URL, storetest.OwnerLogin), store.Options{})}
	b.Fill(t)
	for id, word := range map[int64]string{fixture.Acme: "quagga", fixture.Zoo: "okapi"} {
		c.Exec(t, strings.NewReplacer("$1", fmt.Sprint(id), "$2", "'"+word+"'").Replace(`
			insert into pets (tenant_id, name, category_id, status, created_at) select $1, $2, 1, 'sold', now() from
				generate_series(1, 3);
			insert into orders (tenant_id, pet_id, quantity, status, created_at) select $1, id, 1, 'delivered', now()
				from pets where tenant_id = $1;
			insert into idempotency_keys (tenant_id, method, path, key, fingerprint, status, location, body,
				created_at, expires_at)
			values ($1, 'POST', '/v1/pets', $2, sha256('x'), 201, '/v1/pets/1', convert_to('{"name":"' || $2 || '"}',
				'UTF8'), now(), now() + interval '1 day');
			insert into failed_requests (tenant_id, server_id, number, key_id, at, request_id, code, plan, limited_by,
				allowed, partial, method, route,
			                             suppressed, status, reason, took_micros)
			values ($1, 's1', $1, 'key_000000000000000$1', now(), $2, 'pet_not_found', 'pro', '', 0, false, 'GET',
				'/v1/pets/{petId}', 0, 404, '', 5);
			insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at)
			values ($1, 'key_000000000000000$1', 'staff', $2, now(), now() + interval '1 hour');
			insert into limit_states (tenant_id, scope) values ($1, '');
			insert into sent_events (receiver, hour, tenant_id, assignment, correction, event_id, format, counted_at,
				billing_ref, version, admitted, refused, state, body, attempts)
			select 'openmeter', '2026-11-01Z', $1, $1, n, gen_random_uuid(), 'openmeter', '2026-11-01Z', 'cus', 1, 1, 0,
				state, '{"tenant":"' || $2 || '-inc","billing_ref":"\"tenant\":"}', n
			from (values (0, 'waiting'), (1, 'unsent')) v (n, state);
			insert into usage_waivers (tenant_id, receiver, until) values ($1, '', now());
			insert into tenant_months (tenant_id, month, admitted) values ($1, '2026-11-01', 5);
			insert into sign_ins (digest, tenant_id, key_id, environment) values (sha256($2), $1,
				'key_000000000000000$1', 'live');
			insert into invites (digest, tenant_id, environment) values (sha256($2), $1, 'live');
			update api_keys set name = $2, last4 = left($2, 4) where tenant_id = $1;
			insert into endpoints (tenant_id, environment, url, events, description)
			values ($1, 'live', 'https://' || $2, '{key.issued}', $2);
			insert into endpoint_slots (endpoint_id, slot) select id, 0 from endpoints where tenant_id = $1;
			insert into endpoint_secrets (endpoint_id, key_id, sealed)
			select id, 'k1', '' from endpoints where tenant_id = $1;
			insert into once (tenant_id, kind, subject, instant) values ($1, 'key.expiring', $2, now());
			insert into events (tenant_id, type, body) values ($1, 'key.issued', $2);
			insert into mails (tenant_id, kind, said) values ($1, 'key.banned', $2 || ': unknown user');
			insert into deliveries (endpoint_id, tenant_id, event_id)
			select e.id, $1, v.id from endpoints e join events v using (tenant_id) where tenant_id = $1;
			insert into attempts (endpoint_id, delivery_id, tenant_id, attempt, at, ms, status, answer, said)
			select endpoint_id, id, $1, 1, now(), 1, 500, convert_to($2, 'UTF8'), '' from deliveries
			where tenant_id = $1;`))
		name, email := word+"-inc", word+"@example.com"
		_, _, err := c.owner.Tenants.Edit(
			t.Context(),
			ops,
			fmt.Sprint("#", id),
			tenancy.TenantEdit{Name: &name, Email: &email, Contact: &word, Notes: &word},
		)
		assert.NoError(t, err)
	}
	b.Deliver(t, "s1", fixture.Dec, fixture.Used(fixture.Business, fixture.Nov.Add(time.Hour), 7, 0))
	b.Close(t, fixture.Oct)
	b.Deliver(t, "s1", fixture.Dec, fixture.Used(fixture.Business, fixture.Oct.Add(30*24*time.Hour), 9, 0)) // late
	b.Exec(t, `
		alter table usage_daily disable trigger user;
		create table daily_of_2020 partition of usage_daily for values from ('2020-01-01Z') to ('2021-01-01Z');
		insert into usage_daily (tenant_id, day, key_id, assignment, version, admitted, refused) values (1,
			'2020-01-01Z', 'key_0000000000000001', 1, 1, 1, 1);
		alter table usage_daily enable trigger user`)
	return c
}

// holding returns the tables with rows that hold the word.
func (c customers) holding(t *testing.T, word string) (tables []string) {
	t.Helper()
	c.Rows(t, &tables, `
		select relname from pg_class
		where relnamespace = 'public'::regnamespace and relkind = 'r'
		  and (xpath('//n/text()',
		      query_to_xml(format('select count(*) as n from %I t where position(%L in t::text) > 0', relname,
		          $1::text), false, true, '')))[1]::text <> '0'
		order by relname`, word)
	return tables
}

func (c customers) rowsOf(t *testing.T, id int64) string {
	t.Helper()
	return c.Text(t, `
		select string_agg(query_to_xml(format('select * from %I t where tenant_id = %s order by t::text', relname,
			$1::bigint), true, true, '')::text, '' order by relname)
		from pg_class c where relnamespace = 'public'::regnamespace and relkind = 'r'
		  and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')`, id)
}

func (c customers) erase(t *testing.T, tenant string) admin.Erasure {
	t.Helper()
	e, err := c.owner.TenantData.Erase(t.Context(), ops, tenant, func(int) {})
	assert.NoError(t, err)
	return e
}

// TestErase: no word of the tenant is left in any table, what is billed is still what it was, and
// the other tenant has all that it had.
func TestErase(t *testing.T) {
	t.Parallel()
	c := newCustomers(t)
	_, err := c.owner.TenantData.Erase(t.Context(), ops, "quagga-inc", nil)
	assert.ErrorIs(t, err, plans.ErrTenantNotSuspended, "a tenant in good standing")
	_, err = c.owner.Tenants.Suspend(t.Context(), ops, "quagga-inc", time.Time{})
	assert.NoError(t, err)
	before, zooBefore := c.Text(t, `select database_to_xml(true, true, '')::text`), c.rowsOf(t, fixture.Zoo)
	planned, err := c.owner.TenantData.Erase(t.Context(), audit.By{Actor: "ops", DryRun: true}, "quagga-inc", nil)
	if err != nil || c.Text(t, `select database_to_xml(true, true, '')::text`) != before {
		t.Fatalf("a dry run changed something, or failed: %v", err)
	}
	if tables := c.holding(t, "quagga"); len(tables) < 8 {
		t.Fatalf("only %v hold the word", tables)
	}
	billed := c.Text(t, `select string_agg(u::text, ' ' order by u) from usage_counted u where tenant_id = 1`)

	e := c.erase(t, "quagga-inc")
	tables := c.holding(t, "quagga")
	assert.True(t, len(tables) == 0, tables, "still hold it")
	assert.DeepEqual(t, c.rowsOf(t, fixture.Zoo), zooBefore, "the other tenant")
	c.Want(t, billed, `select string_agg(u::text, ' ' order by u) from usage_counted u where tenant_id = 1`)
	want := admin.Erasure{
		TenantID: fixture.Acme, Name: "erased-1", Lines: 2,
		Removed: map[string]int64{
			"api_keys":         1,
			"bans":             1,
			"failed_requests":  1,
			"idempotency_keys": 1,
			"endpoints":        1,
			"events":           1,
			"deliveries":       1,
			"attempts":         1,
			"once":             1,
			"tenant_days":      1,
			"mailboxes":        1,
			"mails":            2,
			"limit_states":     1,
			"orders":           3,
			"pets":             3,
			"undo_values":      2,
		},
		Stay: map[string]int64{
			"tenant_plans":       2,
			"tenant_suspensions": 2,
			"tenant_activity":    1,
			"tenant_months":      1,
			"usage_hourly":       4,
			"usage_late":         1,
			"usage_lines":        2,
			"usage_waivers":      1,
			"sent_events":        2,
			"usage_daily":        1,
			"audit_entries":      4,
		},
	}
	planned.ErasedAt = e.ErasedAt
	want.ErasedAt = e.ErasedAt
	assert.DeepEqual(t, planned, want, "planned")
	want.Number, want.Hash = e.Number, e.Hash
	if diff := cmp.Diff(want, e); diff != "" || e.ErasedAt.IsZero() || len(e.Hash) != 32 {
		t.Errorf("erased (-want +got):\n%s", diff)
	}
	assert.DeepEqual(t, c.erase(t, "1"), e, "again -before +now")
	c.checkErased(t, e)
}

// checkErased: the tenant takes no change, and the audit trail and the closed month are intact.
func (c customers) checkErased(t *testing.T, e admin.Erasure) {
	t.Helper()
	if fault, err := c.owner.Audit.Verify(t.Context(), &audit.Verifier{}); fault != nil || err != nil {
		t.Errorf("the audit trail: %v, %v", fault, err)
	}
	_, _, err := c.owner.Tenants.Edit(t.Context(), ops, e.Name, tenancy.TenantEdit{Notes: &e.Name})
	assert.ErrorIs(t, err, plans.ErrTenantErased, "edit")
	if v, err := c.owner.Months.Verify(t.Context(), fixture.Oct); len(v.Differences) > 0 || err != nil {
		t.Errorf("the closed month: %q, %v", v.Differences, err)
	}
	// The owner can alter the lines and what they are computed from, but not unseen.
	for _, tamper := range []string{
		`update usage_lines set form = replace(form, '"refused":12', '"refused":13') where tenant_id = 1 and number =
			1`,
		`update usage_lines set form = replace(form, 'erased-1', 'okapi') where tenant_id = 1 and number = 1`,
		`update usage_lines set sha256 = sha256('x') where tenant_id = 1 and number = 1`,
	} {
		c.Exec(
			t,
			`create table lines as select month, tenant_id, number, form, sha256 from usage_lines; alter table
				usage_lines disable trigger user; `+tamper,
		)
		if v, err := c.owner.Months.Verify(t.Context(), fixture.Oct); len(v.Differences) == 0 || err != nil {
			t.Errorf("%s is not found: %v", tamper, err)
		}
		c.Exec(t, `
			update usage_lines l set form = b.form, sha256 = b.sha256 from lines b where (b.month, b.tenant_id,
				b.number) = (l.month, l.tenant_id, l.number);
			alter table usage_lines enable trigger user; drop table lines`)
	}
	if _, err := c.Owner.ExecContext(
		t.Context(),
		`update usage_lines set form = replace(form, '"refused":12', '"refused":13') where tenant_id = 1`,
	); err == nil {
		t.Error("a line of an erased tenant can be changed")
	}
}

// TestEraseKeepsWhatIsCounted: what servers counted before, and record after, is billed: in the
// open month, and as a correction of a closed one.
func TestEraseKeepsWhatIsCounted(t *testing.T) {
	t.Parallel()
	c := newCustomers(t)
	_, err := c.owner.Tenants.Suspend(t.Context(), ops, "quagga-inc", time.Time{})
	assert.NoError(t, err)
	c.erase(t, "quagga-inc")
	const counted = `select sum(admitted) || ' ' || sum(refused) from usage_recorded where tenant_id = 1 and hour >=
		$1 and hour < $2`
	odd, never := fixture.Used(
		fixture.Business,
		fixture.Nov.Add(2*time.Hour),
		100,
		0,
	), fixture.Used(
		fixture.Business,
		fixture.Nov.Add(2*time.Hour),
		100,
		0,
	)
	odd.KeyID, never.TenantID = "x", 99
	c.Deliver(
		t,
		"s1",
		fixture.Dec.Add(time.Hour),
		fixture.Used(fixture.Business, fixture.Nov.Add(2*time.Hour), 3, 2),
		fixture.Used(fixture.Business, fixture.Oct.AddDate(0, 0, 25), 5, 4),
		odd,
		never,
	)
	c.Deliver(t, "s2", fixture.Dec.Add(time.Hour), fixture.Used(fixture.Business, fixture.Nov.Add(2*time.Hour), 30, 0))
	if got, want := c.Text(
		t,
		counted,
		fixture.Oct,
		fixture.Nov,
	), fmt.Sprint(
		8030+10+44100+9+5,
		" ",
		12+4,
	); got != want {
		t.Errorf("of the closed month: %s, want %s", got, want)
	}
	if got, want := c.Text(t, counted, fixture.Nov, fixture.Dec), fmt.Sprint(7+3+30, " ", 2); got != want {
		t.Errorf("of the open month: %s, want %s", got, want)
	}
	c.Close(t, fixture.Nov)
	var billed int64
	for _, l := range c.Lines(t, fixture.Nov) {
		if l.TenantID == fixture.Acme {
			billed += l.Admitted
		}
	}
	if want := int64(7 + 3 + 30 + 9 + 5); billed != want || c.Verify(t, fixture.Nov) != "" {
		t.Errorf("the next month bills %d, want %d; %s", billed, want, c.Verify(t, fixture.Nov))
	}
}

// TestEraseGoesOn: one that is interrupted has taken the keys and the name; another call removes
// the rest.
func TestEraseGoesOn(t *testing.T) {
	t.Parallel()
	const batch = 5000 // as many as are removed in one transaction
	c := newCustomers(t)
	c.Exec(
		t,
		`insert into pets (tenant_id, name, category_id, status, created_at) select 1, 'quagga', 1, 'sold', now() from
			generate_series(1, $1) n`,
		batch+10,
	)
	_, err := c.owner.Tenants.Suspend(t.Context(), ops, "quagga-inc", time.Time{})
	assert.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	e, err := c.owner.TenantData.Erase(ctx, ops, "quagga-inc", func(rows int) {
		if rows == batch {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || e.TenantID != fixture.Acme {
		t.Fatalf("%+v, %v", e, err)
	}
	assert.DeepEqual(t, c.holding(t, "quagga"), []string{"pets"}, "interrupted")
	if e := c.erase(t, "erased-1"); e.Removed["pets"] != batch+13 {
		t.Errorf("%+v", e)
	}
	tables := c.holding(t, "quagga")
	assert.True(t, len(tables) == 0, tables, "still hold it")
}

// TestOnlyTheOwnerErases: nobody else can, also not with SQL.
func TestOnlyTheOwnerErases(t *testing.T) {
	t.Parallel()
	c := newCustomers(t)
	_, err := c.owner.Tenants.Suspend(t.Context(), ops, "quagga-inc", time.Time{})
	assert.NoError(t, err)
	for _, url := range []string{c.SupportURL, c.BillingURL, c.APIURL} {
		db := storetest.Open(t, url, store.Options{})
		if _, err := db.TenantData.Erase(t.Context(), ops, "quagga-inc", nil); !store.IsForbidden(err) {
			t.Errorf("%s: %v", storetest.LoginOf(t, url), err)
		}
		if err := fixture.Attempt(
			t,
			fixture.Connect(t, url),
			"reset role",
			`update tenants set erased_at = now()`,
		); !store.IsForbidden(err) {
			t.Errorf("%s sets it: %v", storetest.LoginOf(t, url), err)
		}
	}
}

// TestExport: all of the tenant and nothing of others, without digests.
func TestExport(t *testing.T) {
	t.Parallel()
	c := newCustomers(t)
	const pets = 2500 // several pages
	c.Exec(
		t,
		`insert into pets (tenant_id, name, category_id, status, created_at) select 1, 'quagga "' || n, 1, 'sold',
			now() from generate_series(1, $1) n`,
		pets-3,
	)
	files := map[string]*bytes.Buffer{}
	var first admin.TenantExport
	e, err := c.owner.TenantData.Export(t.Context(), "quagga-inc",
		func(e admin.TenantExport) error { first = e; return nil },
		func(f admin.ExportFile) (io.Writer, error) {
			files[f.Name] = &bytes.Buffer{}
			return files[f.Name], nil
		})
	assert.NoError(t, err)
	assert.DeepEqual(t, e, first, "the manifest -first +last")
	var all strings.Builder
	for _, f := range e.Files {
		text := files[f.Name].String()
		if int64(len(text)) != f.Size || int64(strings.Count(text, "\n")) != f.Rows ||
			f.Rows == 0 && f.Name != "sent_events.jsonl" {
			t.Errorf("%+v has %d bytes and %d lines", f, len(text), strings.Count(text, "\n"))
		}
		for line := range strings.Lines(text) {
			assert.True(t, json.Valid([]byte(line)), f.Name, line)
		}
		all.WriteString(text)
	}
	assert.Equal(t, strings.Count(files["pets.jsonl"].String(), "quagga"), pets, "animals")
	digest := c.Text(t, `select encode(digest, 'hex') from api_keys where tenant_id = 1`)
	for _, never := range []string{"okapi", "key_0000000000000002", digest, "digest", storetest.OwnerLogin,
		"sha256('x')"} {
		assert.True(t, !strings.Contains(all.String(), never), "the export has", never)
	}
	names := slices.Sorted(maps.Keys(files))
	assert.Equal(t, len(names), len(e.Files), "files", names)
	if _, err := storetest.Open(
		t,
		c.SupportURL,
		store.Options{},
	).TenantData.Export(
		t.Context(),
		"quagga-inc",
		nil,
		nil,
	); !store.IsForbidden(err) {
		t.Errorf("as support: %v", err)
	}
}
