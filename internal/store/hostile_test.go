package store_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
)

// TestHostileUsage: no count that a login in petstore_api can add keeps the servers from recording,
// or staff from reading.
func TestHostileUsage(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	a, b := db.Key(t, 1), db.Key(t, 2)
	conn := fixture.Connect(t, db.APIURL)
	for _, statement := range []string{
		`select add_usage('x', 1, 0, $1, '{1794999600,1794999600}', $2, '{1,7}', '{1,1}',
			'{9223372036854775807,9223372036854775807}', '{9223372036854775807,1}',
			'{9223372036854775807,29916660}', '{9223372036854775807,9223372036854775807}',
				'{9223372036854775807,9223372036854775807}', '{}', '{}')`,
		`select add_usage('x', 2, 0, $1, '{1794999600,999999999999}', $2, '{1,1}', '{1,7}', '{9223372036854775807,1}',
			'{9223372036854775807,1}',
			'{9223372036854775807,1}', '{1,1}', '{1,1}', '{}', '{}')`,
		`select add_usage('x', 3, 0, $1, '{1794999600,1794999600}', $2, '{7,1}', '{1,1}', '{-9223372036854775808,-1}',
			'{0,0}',
			'{-9223372036854775808,9223372036854775807}', '{-9223372036854775808,-1}', '{-9223372036854775808,-1}',
				'{}', '{}')`,
		`select add_usage('x', 4, 0, $1, '{-1,-99999999999}', $2, '{1,1}', '{1,1}', '{1,1}', '{1,1}', '{0,0}',
			'{0,0}', '{0,0}', '{}', '{}')`,
	} {
		conn.MustExec(statement, []byte(`{1,1}`), []byte(`{`+a.ID+`,`+a.ID+`}`))
	}
	hour := time.Unix(1794999600, 0).UTC()
	fixture.WriteUsage(t, db.API, usage.Batch{ServerID: "s", Number: 1, Counts: []usage.Count{
		fixture.Count(a.TenantID, a.ID, hour, 5, 5), fixture.Count(b.TenantID, b.ID, hour, 7, 0),
	}})
	admitted, err := db.Staff.Usage.AdmittedOn(t.Context(), hour.Unix()/86400)
	if err != nil || admitted[b.TenantID] != 7 {
		t.Errorf("recorded %v, %v", admitted, err)
	}
	db.Want(t, "0", `select count(*) from usage_hourly where hour not between '1970-01-01Z' and '9999-12-31 23:59Z'`)
}

// TestHostileLateUsage: no count of a closed month, and no instant of a delivery, keeps months from
// being exported or servers from recording.
func TestHostileLateUsage(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Close(t, fixture.Oct)
	conn := fixture.Connect(t, b.APIURL)
	hour := fmt.Sprintf(`{%d,%[1]d}`, fixture.Oct.Unix())
	for i, delivered := range []int64{math.MaxInt64, math.MinInt64, -1, 1} {
		conn.MustExec(
			`select add_usage('x', $1, $2, '{1,1}', $3, $4, '{1,1}', '{1,1}', $5, '{9223372036854775807,1}', '{0,0}',
				'{0,0}', '{0,0}', '{}', '{}')`,
			i+1,
			delivered,
			hour,
			`{`+fixture.AcmeKey+`,`+fixture.AcmeKey+`}`,
			[]string{
				`{9223372036854775807,1}`, `{-9223372036854775808,-9223372036854775808}`,
				`{-9223372036854775808,9223372036854775807}`, `{0,1}`,
			}[i],
		)
	}
	lines := b.Lines(t, fixture.Nov)
	if last := lines[1]; last.Corrects != "2025-10" || last.Admitted != 1_000_000_000_000 ||
		last.Refused != 1_000_000_000_000 {
		t.Errorf("the correction is %+v, want 10^12 at most", last)
	}
	b.Close(t, fixture.Nov)
}

// TestHostileFailedRequest: a failed request of the far future would never be pruned, and keep all
// others out of the latest ones.
func TestHostileFailedRequest(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k := db.Key(t, 1)
	fixture.Connect(
		t,
		db.APIURL,
	).MustExec(
		`select add_failed_requests('{1}', '{x}', '{1}', $1, '{9000000000000000000}', '{-1}', $2, '{9000000000000}', $2,
		$2, $2, $2, '{1}', '{9000000000000}', '{f}', '{GET}', $2, '{0}')`,
		[]byte(`{`+k.ID+`}`),
		[]byte(`{`+strings.Repeat("x", 1<<16)+`}`),
	)
	got, err := db.Staff.FailedRequests.OfKey(t.Context(), k.TenantID, k.ID, 10)
	if err != nil || len(got) != 1 {
		t.Fatalf("%d failed requests, %v", len(got), err)
	}
	if at := got[0].At; at.After(time.Now().Add(2*time.Minute)) || got[0].Reset > 253402300799 {
		t.Errorf("at %v until %d", at, got[0].Reset)
	}
	for _, text := range []string{got[0].RequestID, got[0].Code, got[0].Reason, got[0].Plan, got[0].Window,
		got[0].Route} {
		assert.True(t, len(text) <= 128, "a text of", len(text), "bytes is stored")
	}
}

// TestInfiniteTimes: a time that servers can't read would keep all of them from renewing their
// leases.
func TestInfiniteTimes(t *testing.T) {
	t.Parallel()
	db := fixture.NewDatabase(t)
	populate(t, db)
	db.Exec(
		t,
		`alter table cluster_term disable trigger user; update cluster_term set unclean_until = null; alter table
			cluster_term enable trigger user`,
	)
	for url, statements := range map[string][]string{
		db.APIURL: {
			`insert into servers (id, seen_at) values ('x', '-infinity')`,
			`update servers set seen_at = 'infinity'`,
			`update cluster_term set unclean_until = '-infinity'`,
		},
		db.SupportURL: {
			`insert into tenants (name, created_at) values ('x', 'infinity')`,
			`update tenants set suspended_at = '-infinity'`,
			`insert into tenant_plans (tenant_id, plan, valid_from) values (1, 'free', 'infinity')`,
			`update api_keys set expires_at = 'infinity'`,
			`update api_keys set revoked_at = '-infinity'`,
			`insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at) select tenant_id, id, 'staff',
				'', now(), 'infinity' from api_keys`,
			`update bans set lifted_at = 'infinity'`,
		},
	} {
		login := fixture.Connect(t, url)
		for _, statement := range statements {
			err := fixture.Attempt(t, login, `select 1`, statement)
			assert.True(t, err != nil, "taken", statement)
		}
	}
	fixture.Renew(t, storetest.Open(t, db.APIURL, store.Options{AsAPI: true}), cluster.Heartbeat{ServerID: "a"})
}

// TestNotificationsHoldNoDigest: every login hears them, and may find nothing by them.
func TestNotificationsHoldNoDigest(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	bob := db
	bob.Database = fixture.Database{Database: &storetest.Database{URL: db.BillingURL}}
	next := bob.Listen(t)
	k := db.Key(t, 1)
	want := db.Text(t, `select 'key ' || left(encode(digest, 'hex'), 32) from api_keys`)
	db.Exec(
		t,
		`insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at) values ($1, $2, 'staff', '', now(),
			now() + interval '1 day')`,
		k.TenantID,
		k.ID,
	)
	for i, of := range []string{"a new tenant", "a new key", "a ban"} {
		assert.Equal(t, next(t), []string{"tenant 1", want, want}[i], "notification of", of)
	}
}

// TestLoginSettings: a login may change its own settings for later sessions, and so for all servers
// that share it. The API does not depend on those, but for one: of a database that is frozen nothing
// is written, and the error names the setter.
func TestLoginSettings(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k := db.Key(t, 1)
	url := db.APIURL + "&row_security=off&lock_timeout=1&default_transaction_isolation=serializable&jit=on"
	frozen := storetest.Open(t, url+"&default_transaction_read_only=on", store.Options{AsAPI: true})
	err := frozen.Usage.WriteUsage(t.Context(), usage.Batch{ServerID: "s", Number: 1,
		Counts: []usage.Count{fixture.Count(k.TenantID, k.ID, fixture.Eleven, 1, 0)}})
	assert.ErrorIs(t, err, store.ErrUnavailable)
	assert.Contains(t, err.Error(), "pg_settings.source: client")
	_, err = frozen.Idempotency.Prune(t.Context(), time.Now(), 10)
	assert.Equal(t, pgconn.Reason(err), pgconn.ReadOnly, err)
	assert.Equal(t, len(fixture.RecordedUsage(t, db)), 0, "recorded")
	api := storetest.Open(t, url, store.Options{AsAPI: true})
	fixture.WriteUsage(
		t,
		api,
		usage.Batch{
			ServerID: "s",
			Number:   1,
			Counts:   []usage.Count{fixture.Count(k.TenantID, k.ID, fixture.Eleven, 1, 0)},
		},
	)
	_, err = api.Idempotency.Prune(t.Context(), time.Now(), 10)
	assert.Equal(t, err, nil)
	got := fixture.RecordedUsage(t, db)
	assert.Equal(t, len(got), 1, "recorded", got)
	session, err := pgconn.Open(t.Context(), url, pgconn.Options{AsAPI: true, Timeout: fixture.LongTimeout})
	assert.NoError(t, err)
	defer session.Close()
	var jit string
	if err := session.Get(t.Context(), &jit, `select current_setting('jit')`); err != nil || jit != "off" {
		t.Errorf("jit is %q, %v: every small statement would be compiled", jit, err)
	}
}
