package store_test

import (
	"testing"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// forbidden are statements that Postgres refuses to a login in each role, by what they would
// achieve. Each is valid: the owner may run it.
var forbidden = map[string]map[string]string{
	"petstore_api": {
		"scan digests": `select digest from api_keys`,
		"count keys":   `select count(*) from api_keys`,
		"issue a key": `insert into api_keys select 'key_1111111111111111', tenant_id, '', 'live',
			sha256('x'), 'last', now() from api_keys`,
		"revive a key":                `update api_keys set revoked_at = null`,
		"set a key's last use":        `update api_keys set last_used_at = null`,
		"raise a tenant's quota":      `insert into tenant_plans (tenant_id, plan) values (1, 'business')`,
		"read tenants":                `select name from tenants`,
		"change the price list":       `update plans set per_minute = 1000000 where name = 'pro'`,
		"read the history of plans":   `select plan from tenant_plans`,
		"change the history of plans": `update tenant_plans set plan = 'free'`,
		"write usage": `insert into usage_hourly select tenant_id, now(), id, 1, 1, 1, 1 from
			api_keys`,
		"change usage": `update usage_hourly set admitted = 0`,
		"remove usage": `delete from usage_hourly`,
		"take usage back": `select add_usage('s', 1, 0, '{1}', '{0}', '{k}', '{1}', '{1}', '{1}',
			'{-1}', '{0}', '{0}', '{0}', '{}', '{}')`,
		"change the number of a batch": `update usage_writers set batch = 0`,
		"read bans":                    `select * from bans`,
		"place a ban of a chosen length": `insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at)
			select tenant_id, id, 'staff', '', now(), now() + interval '1 year' from api_keys`,
		"end a ban":                    `update bans set lifted_at = now()`,
		"remove a ban":                 `delete from bans`,
		"forge an audit entry":         `insert into audit_entries default values`,
		"read the audit trail":         `select * from audit_entries`,
		"remove the audit trail":       `delete from audit_entries`,
		"move the audit trail's head":  `update audit_head set number = 0`,
		"read failed requests":         `select * from failed_requests`,
		"remove failed requests":       `delete from failed_requests`,
		"remove a tenant's limits":     `delete from limit_states`,
		"go back to an earlier window": `update limit_states set minute = minute - 1`,
		"go to a window of the future": `update limit_states set minute = minute + 5, minute_used = 0`,
		"go to a day of the future":    `update limit_states set day = day + 2, day_used = 0`,
		"go to a month of the future":  `update limit_states set month = month + 2, month_used = 0`,
		"go back to an earlier term":   `update limit_states set term = term - 1`,
		"go to a term of the future":   `update limit_states set term = 4`,
		"add used limits":              `insert into limit_states (tenant_id, scope, day_used) values (1, 'x', 1)`,
		"turn the term back":           `update cluster_term set number = number - 1`,
		"use up the numbers of terms":  `update cluster_term set number = 2147483647`,
		"forget a set-back":            `update cluster_term set set_back = 1`,
		"wait for a year":              `update cluster_term set not_before = now() + interval '1 year'`,
		"forget an unclean end of all": `update cluster_term set unclean_until = null`,
		"make an unclean end earlier":  `update cluster_term set unclean_until = unclean_until - interval '1 s'`,
		"close all minutes for a year": `update cluster_term set unclean_until = now() + interval '1 year'`,
		"remove the term":              `delete from cluster_term`,
		"remove an animal":             `delete from pets`,
		"remove an order":              `delete from orders`,
		"change what was ordered":      `update orders set quantity = 1`,
		"forget an idempotency key":    `delete from idempotency_keys`,
		"truncate":                     `truncate pets cascade`,
		"make a table":                 `create table mine (n int)`,
		"make a temporary table":       `create temporary table plans (n int)`,
		"make a function":              `create function mine() returns int language sql as 'select 1'`,
		"migrate":                      `update schema_migrations set version = 1`,
		"read sign-ins":                `select * from sign_ins`,
		"read a sign-in":               `select * from live_sign_in(sha256(''))`,
		"open a sign-in by itself": `insert into sign_ins (digest, tenant_id, environment) values (sha256(''), 1,
			'live')`,
		"invite":                    `select invite_tenant(sha256(''), 1, 'live', 'x', '')`,
		"invite by mail":            `select invite_by_mail(1, 'live', 'x', '')`,
		"read addresses":            `select email from tenants`,
		"ask an address":            `select ask_mailbox(1, 'x', '')`,
		"find a key for staff":      `select find_key(sha256(''))`,
		"choose the length of bans": `update ban_lengths set length = '1 year'`,
		"become support":            `set role petstore_support`,
		"become the owner":          `set role postgres`,
	},
	"petstore_support": {
		"read digests":          `select digest from api_keys`,
		"change a digest":       `update api_keys set digest = sha256('')`,
		"remove a key":          `delete from api_keys`,
		"change the price list": `update plans set per_minute = 1000000 where name = 'pro'`,
		"add a plan":            `insert into plans (name, position) values ('gold', 9)`,
		"change usage":          `update usage_hourly set admitted = 0`,
		"remove usage":          `delete from usage_hourly`,
		"end a server's usage":  `select end_usage('s')`,
		"add usage": `select add_usage('s', 1, 0, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
			'{}', '{}', '{}', '{}')`,
		"read animals":                `select * from pets`,
		"read orders":                 `select * from orders`,
		"read stored responses":       `select * from idempotency_keys`,
		"remove a ban":                `delete from bans`,
		"choose the length of bans":   `update ban_lengths set length = '1 year'`,
		"lengthen a ban":              `update bans set ends_at = now() + interval '1 year'`,
		"remove a tenant":             `delete from tenants`,
		"change the history of plans": `update tenant_plans set plan = 'free'`,
		"mark an assignment void":     `update tenant_plans set voided_at = now(), void_reason = 'x'`,
		"forget a suspension":         `delete from tenant_suspensions`,
		"remove the audit trail":      `delete from audit_entries`,
		"change the audit trail":      `update audit_entries set reason = ''`,
		"choose an entry's login": `insert into audit_entries (login, claimed_actor, action, subject) values
			('x', 'x', 'x', 'x')`,
		"move the audit trail's head": `update audit_head set number = 0`,
		"reset limits":                `update limit_states set day_used = 10`,
		"read limits":                 `select * from limit_states`,
		"change the term":             `update cluster_term set number = 9`,
		"forge a failed request":      `insert into failed_requests default values`,
		"make a temporary table":      `create temporary table plans (n int)`,
		"migrate":                     `update schema_migrations set version = 1`,
		"look up a caller":            `select callers_of_keys(array[sha256('')], now())`,
		"become the API":              `set role petstore_api`,
		"confirm an address":          `select answer_mail(1, '', 'confirmed')`,
		"confirm an address itself":   `update mailboxes set state = 'confirmed'`,
		"send a mail":                 `insert into mails (tenant_id, kind) values (1, 'confirm')`,
		"read links of mails":         `select link from mails`,
		"read sign-ins":               `select * from sign_ins`,
		"read invitations":            `select * from invites`,
		"invite without an entry": `insert into invites (digest, tenant_id, environment) values (sha256(''), 1,
			'live')`,
		"sign in":                      `select open_sign_in(sha256(''), sha256(''), '::1', 'any')`,
		"place a ban of the platform":  `select place_automatic_ban(1, 'k')`,
		"remove failed requests":       `select prune_failed_requests(now(), 1)`,
		"remove the batches' numbers":  `delete from usage_writers`,
		"read the batches' numbers":    `select * from usage_writers`,
		"remove expired stored answer": `select prune_idempotency_keys(now(), 0, 1)`,
	},
	"petstore_billing": {
		"read keys":            `select id from api_keys`,
		"read bans":            `select * from bans`,
		"read failed requests": `select * from failed_requests`,
		"change what was sent": `update sent_events set admitted = 0`,
		"forget what was sent": `delete from sent_events`,
		"choose who sent": `insert into sent_events (receiver, hour, tenant_id, assignment, correction,
			event_id, format, counted_at, billing_ref, version, admitted, refused, sent_by) select 'r', now(), 1, 1,
				0, id, '', now(), '', 1, 1, 1, 'x' from event_source`,
		"change IDs of events": `update event_source set id = gen_random_uuid()`,
		"read the audit trail": `select * from audit_entries`,
		"choose an entry's login": `insert into audit_entries (login, claimed_actor, action, subject) values ('x',
			'x', 'x', 'x')`,
		"change usage":           `update usage_hourly set admitted = 0`,
		"rename a plan":          `update price_list set name = 'x'`,
		"change a version":       `update plan_versions set per_minute = 1000000`,
		"assign a plan":          `insert into tenant_plans (tenant_id, plan) values (1, 'free')`,
		"create a tenant":        `insert into tenants (name, created_at) values ('x', now())`,
		"change the history":     `update tenant_plans set plan = 'free'`,
		"read animals":           `select * from pets`,
		"read limits":            `select * from limit_states`,
		"find a key":             `select find_key(sha256(''))`,
		"make a temporary table": `create temporary table plans (n int)`,
		"become support":         `set role petstore_support`,
		"remove expired limits":  `select prune_key_limits(1, 1)`,
		"add failed requests": `select add_failed_requests('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
			'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`,
		"announce a term":         `update cluster_term set number = 9`,
		"remove a silent server":  `delete from servers`,
		"read the server's batch": `select * from usage_writers`,
	},
}

// populate fills the tables so that each forbidden statement would have something to do. Term 3
// follows term 2, in which tenant 1 used 100 of its minute and day, 60 of them before the term
// began.
func populate(t *testing.T, db fixture.Database) {
	t.Helper()
	db.Exec(t, `select test_tenant('acme', 'pro')`)
	db.Exec(
		t,
		`insert into api_keys (id, tenant_id, environment, digest, last4, created_at) values ('key_0000000000000001',
			1, 'live', sha256(''), 'last', now())`,
	)
	db.Exec(t, `select test_usage(1, date_trunc('hour', now()), 'key_0000000000000001', 'pro', 5, 5)`)
	db.Exec(t, `insert into tenant_suspensions values (1, now(), now())`)
	db.Exec(
		t,
		`insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at) values (1, 'key_0000000000000001',
			'staff', '', now(), now() + interval '1 day')`,
	)
	db.Exec(t, `insert into servers (id, seen_at) values ('s', now())`)
	db.Exec(t, `insert into limit_states (tenant_id, scope) values (1, '')`)
	db.Exec(t, `update cluster_term set number = 1`)
	db.Exec(t, `update limit_states set term = 1, minute_used = 60, day_used = 60,
		minute = floor(extract(epoch from now()) / 60), day = floor(extract(epoch from now()) / 86400),
		month = (extract(year from now() at time zone 'UTC') - 1970) * 12 +
			extract(month from now() at time zone 'UTC') - 1`)
	db.Exec(t, `update cluster_term set number = 2`)
	db.Exec(t, `update limit_states set term = 2, minute_used = 100, day_used = 100`)
	db.Exec(t, `update cluster_term set number = 3, unclean_until = now(), set_back = 2`)
}

func TestWhatRolesMayNotDo(t *testing.T) {
	t.Parallel()
	db := fixture.NewDatabase(t)
	populate(t, db)
	owner := fixture.Connect(t, db.URL)
	for role, url := range map[string]string{
		"petstore_api": db.APIURL, "petstore_support": db.SupportURL, "petstore_billing": db.BillingURL,
	} {
		login := fixture.Connect(t, url)
		for what, statement := range forbidden[role] {
			// As the server's connections, and after somebody left the role that they set.
			for _, as := range []string{`set role ` + role, `reset role`} {
				if err := fixture.Attempt(t, login, as, statement); pq.As(err, pqerror.InsufficientPrivilege) == nil {
					t.Errorf("%s may %s after %q: %v", role, what, as, err)
				}
			}
			// The owner may, so that it is not refused for another reason.
			if err := fixture.Attempt(
				t,
				owner,
				`reset role`,
				statement,
			); pq.As(
				err,
				pqerror.UndefinedTable,
				pqerror.UndefinedColumn,
				pqerror.UndefinedFunction,
				pqerror.SyntaxError,
			) != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// TestLimitsMoveForward: windows and terms only move forward, to the current ones. What is used may
// fall: grants are given back, and a new term begins where the records stand.
func TestLimitsMoveForward(t *testing.T) {
	t.Parallel()
	db := fixture.NewDatabase(t)
	populate(t, db)
	api := fixture.Connect(t, db.APIURL)
	for statement, want := range map[string]bool{
		`update limit_states set minute_used = 60, day_used = 60`:                        true,
		`update limit_states set minute = minute - 1`:                                    false,
		`update limit_states set day = day - 1`:                                          false,
		`update limit_states set month = month - 1`:                                      false,
		`update limit_states set month = month + 2, month_used = 0`:                      false,
		`update limit_states set term = 3, month = month - 1, month_used = 7`:            true,
		`update limit_states set term = 3, minute = minute - 1, minute_used = 7`:         true,
		`update limit_states set term = 3, day_used = 7`:                                 true,
		`update limit_states set minute = minute + 1, minute_used = 0`:                   true,
		`update limit_states set term = 3, minute = minute + 5, minute_used = 7`:         false,
		`insert into limit_states (tenant_id, scope) values (1, 'key_0000000000000001')`: true,
		`select prune_key_limits(9223372036854775807, 100)`:                              true,
	} {
		if err := fixture.Attempt(t, api, `set role petstore_api`, statement); (err == nil) != want {
			t.Errorf("%s: %v", statement, err)
		}
	}
	db.Exec(
		t,
		`insert into limit_states (tenant_id, scope, minute) values (1, test_key(1, 'now'), extract(epoch from
			now())::bigint / 60), (1, test_key(1, 'old'), 1)`,
	)
	db.Want(t, "1", `select prune_key_limits(9223372036854775807, 100)`)
}

// TestLimitScopesExist: limits are of a tenant or one of its keys. The API's role adds no others.
func TestLimitScopesExist(t *testing.T) {
	t.Parallel()
	db := fixture.NewDatabase(t)
	populate(t, db)
	db.Exec(t, `select test_key(test_tenant('zoo', 'free'), 'other')`)
	_, err := fixture.Connect(t, db.APIURL).ExecContext(t.Context(), `
		insert into limit_states (tenant_id, scope)
		values (2, ''), (1, 'x'), (1, 'key_00000000000other'), (2, 'key_00000000000other'), (1,
			'key_0000000000000001')`)
	assert.NoError(t, err)
	db.Want(
		t,
		"1 1key_0000000000000001 2 2key_00000000000other",
		`select string_agg(tenant_id || scope, ' ' order by tenant_id, scope) from limit_states`,
	)
}

// TestStoredAnswersExpire: the API's role stores none that stays for long.
func TestStoredAnswersExpire(t *testing.T) {
	t.Parallel()
	db := fixture.NewDatabase(t)
	populate(t, db)
	api := fixture.Connect(t, db.APIURL)
	for expires, want := range map[string]bool{`now() + interval '24 hours'`: true,
		`now() + interval '3 days'`: false, `'infinity'`: false} {
		err := fixture.Attempt(
			t,
			api,
			`select set_config('petstore.tenant_id', '1', true)`,
			`insert into idempotency_keys values (1, 'POST', '/v1/pets', 'k', sha256(''), 201, '', '', now(), `+
				expires+`)`,
		)
		if (err == nil) != want || err != nil && pq.As(err, pqerror.CheckViolation) == nil {
			t.Errorf("an answer until %s: %v", expires, err)
		}
	}
}

// TestOthersMayNotConnect: a login in none of the roles has no rights at all.
func TestOthersMayNotConnect(t *testing.T) {
	t.Parallel()
	other := fixture.Connect(t, storetest.As(t, fixture.NewDatabase(t).URL, storetest.OtherLogin))
	err := other.PingContext(t.Context())
	assert.True(t, pq.As(err, pqerror.InsufficientPrivilege) != nil, "a login without a role", err)
}
