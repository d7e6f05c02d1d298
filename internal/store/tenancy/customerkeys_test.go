package tenancy_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// selfService is an office whose tenant acme manages its keys by one of them.
type selfService struct {
	fixture.Office
	staff     *keys.Service
	boss      keys.Key
	requester keys.Digest
	acme      plans.Tenant
}

func newSelfService(t *testing.T) selfService {
	t.Helper()
	o := fixture.NewOffice(t)
	s := selfService{Office: o, staff: &keys.Service{Store: o.Keys}, acme: o.Tenant(t, "acme", plans.Pro)}
	s.boss, s.requester = s.key(t, keys.Request{Scope: keys.ScopeManage})
	return s
}

// key has staff issue a key to acme, unless the request names another tenant: a live one that may
// write, unless it says otherwise.
func (s selfService) key(t *testing.T, r keys.Request) (keys.Key, keys.Digest) {
	t.Helper()
	if r.Tenant == "" {
		r.Tenant = "acme"
	}
	if r.Environment == "" {
		r.Environment = keys.Live
	}
	k, token, err := s.staff.Issue(t.Context(), fixture.Jo, r)
	assert.NoError(t, err)
	return k, token.Digest()
}

// change makes a change by the key with that digest.
func (s selfService) change(
	ctx context.Context,
	requester keys.Digest,
	c keys.CustomerChange,
	once *catalog.Idempotency,
) (keys.CustomerKey, error) {
	id, err := keys.NewID()
	token, err2 := keys.NewToken(keys.Live)
	if err = errors.Join(err, err2); err != nil {
		return keys.CustomerKey{}, err
	}
	if c.Token == (keys.Token{}) {
		c.Token = token
	}
	if c.Action == "key.issue" {
		c.ID = id
		c.Edit = newKey(c.Edit)
	}
	c.NewID = id
	return s.API.CustomerKeys.Change(ctx, s.acme.ID, requester, c, once)
}

// newKey completes what a new key needs.
func newKey(e keys.Edit) keys.Edit {
	if e.Name == nil {
		e.Name = new(string)
	}
	if e.Scope == nil {
		e.Scope = new(keys.ScopeWrite)
	}
	if e.Allowed == nil {
		e.Allowed = new(keys.Ranges)
	}
	return e
}

func (s selfService) lastNumber(t *testing.T) (n int64) {
	t.Helper()
	assert.NoError(t, s.Owner.GetContext(t.Context(), &n, `select number from audit_head`))
	return n
}

// TestOwnChangesThatAreRefused: by whom, of which key, and why.
func TestOwnChangesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	s.Tenant(t, "zoo", plans.Pro)
	theirs, zoo := s.key(t, keys.Request{Tenant: "zoo", Scope: keys.ScopeManage})
	write, writer := s.key(t, keys.Request{})
	_, tester := s.key(t, keys.Request{Environment: keys.Test, Scope: keys.ScopeManage})
	gone, goner := s.key(t, keys.Request{Scope: keys.ScopeManage})
	_, err := s.staff.Revoke(t.Context(), fixture.Jo, gone.ID)
	assert.NoError(t, err)
	banned, bannedKey := s.key(t, keys.Request{Scope: keys.ScopeManage})
	_, err = s.Bans.Place(
		t.Context(),
		fixture.Jo,
		tenancy.NewBan{KeyID: banned.ID, Length: time.Hour, Reason: "abuse"},
		time.Now(),
	)
	assert.NoError(t, err)
	s.Exec(t, `update api_keys set scope = 'read' where id = $1`, banned.ID) // The last manage key is s.boss.
	read, past, soon, sole := keys.ScopeRead, time.Now().Add(-time.Second), time.Now().Add(
		time.Hour,
	), keys.ErrLastManageKey
	edit := func(id string) keys.CustomerChange {
		return keys.CustomerChange{Action: "key.edit", ID: id, Edit: keys.Edit{Scope: &read}}
	}
	for _, c := range []struct {
		name      string
		requester keys.Digest
		change    keys.CustomerChange
		want      error
	}{
		{"an unknown key asks", keys.Digest{1}, keys.CustomerChange{Action: "key.issue"}, keys.ErrRequester},
		{"a revoked key asks", goner, keys.CustomerChange{Action: "key.issue"}, keys.ErrRequester},
		{"a revoked key", goner, keys.CustomerChange{Action: "key.issue"}, keys.StatusError(keys.Revoked)},
		{"a banned key asks", bannedKey, keys.CustomerChange{Action: "key.revoke", ID: banned.ID},
			keys.ErrRequesterBanned},
		{"a key that may write asks", writer, keys.CustomerChange{Action: "key.issue"}, keys.ErrRequesterScope},
		{"it rotates another", writer, keys.CustomerChange{Action: "key.rotate", ID: s.boss.ID},
			keys.ErrRequesterScope},
		{"it revokes another", writer, keys.CustomerChange{Action: "key.revoke", ID: s.boss.ID},
			keys.ErrRequesterScope},
		{"an unknown key", s.requester, edit("key_0000000000000000"), keys.ErrKeyNotFound},
		{"another tenant's", s.requester, edit(theirs.ID), keys.ErrKeyNotFound},
		{"another tenant's, to rotate", s.requester, keys.CustomerChange{Action: "key.rotate", ID: theirs.ID},
			keys.ErrKeyNotFound},
		{"another tenant's, to revoke", zoo, keys.CustomerChange{Action: "key.revoke", ID: write.ID},
			keys.ErrKeyNotFound},
		{"a live key by a test key", tester, keys.CustomerChange{Action: "key.rotate", ID: write.ID},
			keys.ErrKeyNotFound},
		{"a revoked key", s.requester, edit(gone.ID), keys.ErrKeyInactive},
		{"another version", s.requester,
			keys.CustomerChange{Action: "key.edit", ID: write.ID, Version: "x", Edit: keys.Edit{Scope: &read}},
			keys.ErrKeyChanged},
		{"an expiry in the past", s.requester,
			keys.CustomerChange{Action: "key.edit", ID: write.ID, Edit: keys.Edit{ExpiresAt: &past}},
			keys.ErrExpiryPast},
		{"a new key that has expired", s.requester,
			keys.CustomerChange{Action: "key.issue", Edit: keys.Edit{ExpiresAt: &past}},
			keys.ErrExpiryPast},
		{"the last one narrowed", s.requester, edit(s.boss.ID), sole},
		{"the last one, soon expired", s.requester,
			keys.CustomerChange{Action: "key.edit", ID: s.boss.ID, Edit: keys.Edit{ExpiresAt: &soon}}, sole},
		{"the last one revoked", s.requester, keys.CustomerChange{Action: "key.revoke", ID: s.boss.ID}, sole},
	} {
		before := s.lastNumber(t)
		_, err := s.change(t.Context(), c.requester, c.change, nil)
		assert.ErrorIs(t, err, c.want, c.name)
		assert.Equal(t, s.lastNumber(t), before, c.name, "entries")
	}
	_, err = s.change(
		t.Context(),
		writer,
		keys.CustomerChange{Action: "key.revoke", ID: write.ID, Reason: "it leaked"},
		nil,
	)
	assert.NoError(t, err)
	again, err := s.change(t.Context(), s.requester, keys.CustomerChange{Action: "key.revoke", ID: write.ID}, nil)
	assert.True(t, err == nil && !again.RevokedAt.IsZero(), "revoked again", again, err)
	entry := lastEntry(t, s.Office)
	assert.Equal(t, fmt.Sprint(entry.Action, entry.Reason, entry.After["redacted"]), "key.revoke[reason]")
	made, err := s.change(t.Context(), tester, keys.CustomerChange{Action: "key.issue"}, nil)
	assert.Result(t, made.Environment, err, keys.Test, "made by a test key")
	_, err = s.Tenants.Suspend(t.Context(), fixture.Jo, "acme", time.Time{})
	assert.NoError(t, err)
	_, err = s.change(t.Context(), s.requester, keys.CustomerChange{Action: "key.issue"}, nil)
	assert.ErrorIs(t, err, keys.StatusError(keys.TenantSuspended), "a suspended tenant")
}

// TestLastManageKey: a key that ends soon, or that is for other addresses, is none by which the
// tenant can go on managing its keys. What it can do without one is refused, from where it asks.
func TestLastManageKey(t *testing.T) {
	t.Parallel()
	const here, elsewhere = "203.0.113.0/24", "198.51.100.0/24"
	day := 24 * time.Hour
	in := func(d time.Duration) time.Time { return time.Now().Add(d).Truncate(time.Second) }
	type edit = keys.Edit
	for _, c := range []struct {
		name        string
		last, other keys.Request
		from        string
		change      keys.CustomerChange
		refused     bool
	}{
		{name: "another one", from: "203.0.113.9"},
		{name: "another one for here", other: keys.Request{Allowed: here}, from: "203.0.113.9"},
		{name: "another one for elsewhere", other: keys.Request{Allowed: elsewhere}, from: "203.0.113.9",
			refused: true},
		{name: "by IPv6", other: keys.Request{Allowed: here}, from: "2001:db8::1", refused: true},
		{name: "by mapped IPv4", other: keys.Request{Allowed: here}, from: "::ffff:203.0.113.9"},
		{name: "from nowhere", other: keys.Request{Allowed: here}, refused: true},
		{name: "another one for a week", other: keys.Request{ExpiresAt: in(7*day + time.Hour)}},
		{name: "another one for less", other: keys.Request{ExpiresAt: in(6 * day)}, refused: true},
		{name: "another one for as long", last: keys.Request{ExpiresAt: in(day)},
			other: keys.Request{ExpiresAt: in(day)}},
		{name: "another one for not as long", last: keys.Request{ExpiresAt: in(day)},
			other: keys.Request{ExpiresAt: in(day - time.Minute)}, refused: true},
		{name: "of staging", other: keys.Request{Environment: keys.Test}, refused: true},
		{name: "that writes", other: keys.Request{Scope: keys.ScopeWrite}, refused: true},
		{name: "addresses without another one", other: keys.Request{Scope: keys.ScopeWrite}, from: "203.0.113.9",
			refused: true,
			change:  keys.CustomerChange{Action: "key.edit", Edit: edit{Allowed: new(keys.Ranges(elsewhere))}}},
		{name: "addresses with this one", other: keys.Request{Scope: keys.ScopeWrite}, from: "203.0.113.9",
			change: keys.CustomerChange{Action: "key.edit", Edit: edit{Allowed: new(keys.Ranges(here))}}},
		{name: "addresses with another one", from: "203.0.113.9",
			change: keys.CustomerChange{Action: "key.edit", Edit: edit{Allowed: new(keys.Ranges(elsewhere))}}},
		{name: "a name", other: keys.Request{Scope: keys.ScopeWrite}, last: keys.Request{Allowed: elsewhere},
			from: "203.0.113.9", change: keys.CustomerChange{Action: "key.edit", Edit: edit{Name: new("x")}}},
		{name: "a rotation", other: keys.Request{Scope: keys.ScopeWrite}, last: keys.Request{Allowed: elsewhere},
			from: "203.0.113.9", change: keys.CustomerChange{Action: "key.rotate"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSelfService(t)
			c.last.Scope = keys.ScopeManage
			c.other.Scope = cmp.Or(c.other.Scope, keys.ScopeManage)
			last, requester := s.key(t, c.last)
			s.key(t, c.other)
			assert.NoError(t, fixture.ErrorOf(s.staff.Revoke(t.Context(), fixture.Jo, s.boss.ID)))
			c.change.ID, c.change.Action = last.ID, cmp.Or(c.change.Action, "key.revoke")
			c.change.From, _ = netip.ParseAddr(c.from) // zero for ""
			_, err := s.change(t.Context(), requester, c.change, nil)
			if c.refused {
				assert.ErrorIs(t, err, keys.ErrLastManageKey)
			} else {
				assert.NoError(t, err)
			}
		})
	}
}

// TestLastManageKeyAfterARotation: the old key is none to go on with while it ends.
func TestLastManageKeyAfterARotation(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	made, err := s.change(
		t.Context(),
		s.requester,
		keys.CustomerChange{Action: "key.rotate", ID: s.boss.ID, GracePeriod: time.Hour},
		nil,
	)
	assert.NoError(t, err)
	revoke := func(id string) error {
		return fixture.ErrorOf(
			s.change(t.Context(), s.requester, keys.CustomerChange{Action: "key.revoke", ID: id}, nil),
		)
	}
	assert.ErrorIs(t, revoke(made.ID), keys.ErrLastManageKey, "the new one")
	assert.NoError(t, revoke(s.boss.ID), "the old one")
}

// atOnce makes n changes at the same time, and returns the errors of those that failed.
func atOnce(n int, change func(i int) error) (failed []error) {
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = change(i) })
	}
	wg.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// TestOwnChangesAtOnce: of changes that together would break a rule, some are refused.
func TestOwnChangesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	other, second := s.key(t, keys.Request{Scope: keys.ScopeManage})
	failed := atOnce(12, func(int) error {
		return fixture.ErrorOf(s.change(t.Context(), s.requester, keys.CustomerChange{Action: "key.issue"}, nil))
	})
	assert.Equal(t, len(failed), 12-(keys.MaxActive-2), failed)
	for _, err := range failed {
		assert.ErrorIs(t, err, keys.ErrTooManyKeys)
	}
	failed = atOnce(2, func(i int) error {
		requester, target := s.requester, other.ID
		if i == 1 {
			requester, target = second, s.boss.ID
		}
		return fixture.ErrorOf(
			s.change(t.Context(), requester, keys.CustomerChange{Action: "key.revoke", ID: target}, nil),
		)
	})
	assert.True(t, len(failed) == 1 && errors.Is(failed[0], keys.ErrRequester), "each revokes the other", failed)
}

// TestOwnKeysOnce: a repeated request makes one key, whose secret nobody gets again. It is stored
// nowhere.
func TestOwnKeysOnce(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	token, err := keys.NewToken(keys.Live)
	assert.NoError(t, err)
	once := catalog.Idempotency{Method: "POST", Path: "/v1/keys", Key: "k", At: time.Now()}
	made, err := s.change(t.Context(), s.requester, keys.CustomerChange{Action: "key.issue", Token: token}, &once)
	assert.NoError(t, err)
	_, err = s.change(t.Context(), s.requester, keys.CustomerChange{Action: "key.issue"}, &once)
	var issued *keys.AlreadyIssuedError
	assert.True(t, errors.As(err, &issued) && issued.ID == made.ID, "replayed", err)
	once.Fingerprint[0] = 1
	_, err = s.change(t.Context(), s.requester, keys.CustomerChange{Action: "key.issue"}, &once)
	assert.ErrorIs(t, err, catalog.ErrIdempotencyKeyReused)
	_, err = s.change(
		t.Context(),
		s.requester,
		keys.CustomerChange{Action: "key.issue", Edit: keys.Edit{Name: new(token.Reveal())}},
		nil,
	)
	assert.ErrorIs(t, err, keys.ErrTextContainsKey)
	digest := token.Digest()
	caller, err := s.API.Keys.Caller(t.Context(), digest, time.Now())
	assert.Result(t, caller.KeyID, err, made.ID, "caller")
	all := s.Everything(t)
	assert.True(t, !strings.Contains(all, token.Reveal()), "the secret is stored")
}

// A server that is paused or cut off while it has the lock of an idempotency key keeps it for
// seconds, not until TCP notices.
func TestOwnKeysOnceWithPausedServer(t *testing.T) {
	t.Parallel()
	for n := 3; n <= 6; n++ { // after begin and claim: deadline, change, keep, commit
		t.Run(fmt.Sprintf("before round trip %d", n), func(t *testing.T) {
			t.Parallel()
			s := newSelfService(t)
			proxy := fixture.NewBreakingProxy(t, s.APIURL)
			paused := s
			paused.API = storetest.Open(
				t,
				proxy.URL,
				store.Options{AsAPI: true, MaxConns: 1, Timeout: fixture.ShortTimeout},
			)
			issue := func(by selfService, key string) error {
				once := catalog.Idempotency{Method: "POST", Path: "/v1/keys", Key: key, At: time.Now()}
				return fixture.ErrorOf(
					by.change(
						t.Context(),
						s.requester,
						keys.CustomerChange{Action: "key.issue", Edit: keys.Edit{Name: &key}},
						&once,
					),
				)
			}
			assert.NoError(t, issue(paused, fmt.Sprint("prepared ", n)))
			proxy.BreakAt(n, fixture.Stall)
			name := fmt.Sprint("stalled at ", n)
			err := issue(paused, name)
			assert.True(t, proxy.Broke() && errors.Is(err, store.ErrUnavailable), "want ErrUnavailable", err)
			assert.ErrorIs(t, issue(s, name), catalog.ErrIdempotencyInProgress, "at first")
			wait.Until(t, "the lock's end", func() bool {
				err = issue(s, name)
				return !errors.Is(err, catalog.ErrIdempotencyInProgress)
			})
			assert.NoError(t, err)
			var made int
			assert.NoError(t, s.Owner.Get(&made, `select count(*) from api_keys where name = $1`, name))
			assert.Equal(t, made, 1, "keys")
		})
	}
}

// TestOwnKeysList: the newest first, page by page, by status; a key that may not manage keys sees
// itself.
func TestOwnKeysList(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	list := func(requester keys.Digest, q keys.CustomerQuery) (ids []string, err error) {
		if q.At = time.Now(); q.Limit == 0 {
			q.Limit = 100
		}
		all, err := s.API.CustomerKeys.List(t.Context(), s.acme.ID, requester, q)
		for _, k := range all {
			assert.True(t, k.IssuedBy == "support" || k.IssuedBy == s.boss.ID, "issued by", k.IssuedBy)
			ids = append(ids, k.ID)
		}
		return ids, err
	}
	read, reader := s.key(t, keys.Request{Scope: keys.ScopeRead, Allowed: "192.0.2.1"})
	staging, tester := s.key(t, keys.Request{Environment: keys.Test, Scope: keys.ScopeManage})
	made, err := s.change(
		t.Context(),
		s.requester,
		keys.CustomerChange{Action: "key.rotate", ID: read.ID, GracePeriod: time.Hour},
		nil,
	)
	assert.NoError(t, err)
	assert.Equal(
		t,
		fmt.Sprint(made.Replaces, made.IssuedBy, made.Scope, made.Allowed),
		fmt.Sprint(read.ID, s.boss.ID, read.Scope, read.Allowed),
	)
	_, err = s.change(t.Context(), s.requester, keys.CustomerChange{Action: "key.revoke", ID: made.ID}, nil)
	assert.NoError(t, err)
	all := []string{made.ID, staging.ID, read.ID, s.boss.ID}
	for name, c := range map[string]struct {
		requester keys.Digest
		q         keys.CustomerQuery
		want      []string
	}{
		"all":      {s.requester, keys.CustomerQuery{}, all},
		"a page":   {s.requester, keys.CustomerQuery{Limit: 3}, all[:3]},
		"the next": {s.requester, keys.CustomerQuery{AfterAt: read.CreatedAt, After: read.ID, Limit: 3}, all[3:]},
		"after one that is gone": {s.requester, keys.CustomerQuery{
			AfterAt: read.CreatedAt.Add(time.Microsecond), After: "key_0000000000000000"}, all[2:]},
		"after all": {s.requester,
			keys.CustomerQuery{AfterAt: time.UnixMicro(0), After: "key_0000000000000000"}, nil},
		"before all":     {s.requester, keys.CustomerQuery{AfterAt: time.UnixMicro(1<<63 - 1), After: read.ID}, all},
		"active":         {s.requester, keys.CustomerQuery{Status: keys.Active}, all[1:]},
		"revoked":        {s.requester, keys.CustomerQuery{Status: keys.Revoked}, all[:1]},
		"expired":        {s.requester, keys.CustomerQuery{Status: keys.Expired}, nil},
		"the own":        {reader, keys.CustomerQuery{ID: read.ID}, all[2:3]},
		"by a test key":  {tester, keys.CustomerQuery{}, all[1:2]},
		"live to a test": {tester, keys.CustomerQuery{ID: read.ID}, nil},
	} {
		got, err := list(c.requester, c.q)
		assert.NoError(t, err)
		assert.DeepEqual(t, got, c.want, name)
	}
	_, err = list(reader, keys.CustomerQuery{})
	assert.ErrorIs(t, err, keys.ErrRequesterScope, "all to a key that may read")
	s.Tenant(t, "zoo", plans.Pro)
	theirs, zoo := s.key(t, keys.Request{Tenant: "zoo", Scope: keys.ScopeManage})
	for _, id := range []string{theirs.ID, "key_0000000000000000"} {
		got, err := list(s.requester, keys.CustomerQuery{ID: id})
		assert.True(t, err == nil && got == nil, id, got, err)
	}
	got, err := list(zoo, keys.CustomerQuery{})
	assert.NoError(t, err)
	assert.DeepEqual(t, got, []string{theirs.ID})
}

// endKeys gives acme that many keys that expired yesterday, a second after another, each with the
// entry of its issue.
func (s selfService) endKeys(t *testing.T, n int) {
	t.Helper()
	for _, statement := range []string{`
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at, expires_at)
		select 'key_' || substr(md5(n::text), 1, 16), $1, 'live', sha256(n::text::bytea), 'abcd',
			now() - interval '2 days' + make_interval(secs => n), now() - interval '1 day'
		from generate_series(1, $2) n`, `
		insert into audit_entries (claimed_actor, action, tenant_id, subject, after)
		select 'key:x', 'key.issue', $1, 'key_' || substr(md5(n::text), 1, 16), '{}' from generate_series(1, $2) n`,
	} {
		_, err := s.Owner.ExecContext(t.Context(), statement, s.acme.ID, n)
		assert.NoError(t, err)
	}
}

// TestOwnKeysHistory: the history is read of the keys of a page alone, however many there are.
func TestOwnKeysHistory(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	s.endKeys(t, 2000)
	for _, status := range []keys.Status{"", keys.Expired, keys.Active} {
		tx, err := fixture.Connect(t, s.APIURL).BeginTxx(t.Context(), nil)
		assert.NoError(t, err)
		var keysRead, scans int
		assert.NoError(
			t,
			tx.Get(&keysRead, `select count(*) from own_keys($1, now(), null, nullif($2, ''), null, null, 21)`,
				s.requester[:], string(status)),
		)
		assert.NoError(t, tx.Get(&scans, `
			select coalesce(sum(seq_scan + idx_scan), 0) from pg_stat_xact_all_tables
			where relname like 'audit_entries%'`))
		assert.NoError(t, tx.Rollback())
		assert.Equal(t, keysRead, map[keys.Status]int{"": 21, keys.Expired: 21, keys.Active: 1}[status], status)
		assert.True(t, scans > 0 && scans <= 4*keysRead, status, scans, "reads of the trail for", keysRead, "keys")
	}
}

// TestKeysMadeADay: a tenant makes so many keys in a UTC day, by rotations too. What staff issue,
// and what was made before, does not count.
func TestKeysMadeADay(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	s.endKeys(t, keys.MaxMadeADay)
	s.key(t, keys.Request{})
	change := func(c keys.CustomerChange) error { return fixture.ErrorOf(s.change(t.Context(), s.requester, c, nil)) }
	assert.NoError(t, change(keys.CustomerChange{Action: "key.issue"}), "on another day than those before")
	_, err := s.Owner.ExecContext(t.Context(), `
		update api_keys set created_at = now(), expires_at = now()
		where id in (select id from api_keys where expires_at < now() order by id limit $1)`, keys.MaxMadeADay-2)
	assert.NoError(t, err)
	rotation := keys.CustomerChange{Action: "key.rotate", ID: s.boss.ID, GracePeriod: time.Hour}
	assert.NoError(t, change(rotation), "the last of the day")
	other, _ := s.key(t, keys.Request{})
	rotation.ID = other.ID
	for _, c := range []keys.CustomerChange{{Action: "key.issue"}, rotation} {
		assert.ErrorIs(t, change(c), keys.ErrManyKeysMade, c.Action)
	}
	s.key(t, keys.Request{})
	assert.NoError(t, change(keys.CustomerChange{Action: "key.revoke", ID: s.boss.ID}), "a revocation")
}

// TestOwnKeysInTime: a change after its deadline is not made. A petstorectl that knows no scopes
// rotates no key that has one.
func TestOwnKeysInTime(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	write, _ := s.key(t, keys.Request{})
	tx, err := fixture.Connect(t, s.APIURL).BeginTxx(t.Context(), nil)
	assert.NoError(t, err)
	_, err = tx.Exec(
		`select set_config('petstore.deadline', '1', true), manage_key($1, 'key.revoke', $2, '{}')`,
		s.requester[:],
		write.ID,
	)
	assert.NoError(t, err)
	err = tx.Commit()
	assert.True(t, err != nil && strings.Contains(err.Error(), "came too late"), "commit", err)
	read, _ := s.key(t, keys.Request{Scope: keys.ScopeRead})
	for old, refused := range map[string]bool{read.ID: true, write.ID: false} {
		_, err = fixture.Connect(t, s.SupportURL).ExecContext(t.Context(), `
			with made as (
			  insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
			  select 'key_' || substr(md5(k.id), 1, 16), tenant_id, environment, sha256(k.id::bytea), last4, now()
			      from api_keys k where id = $1
			  returning tenant_id, id
			)
			insert into audit_entries (claimed_actor, action, tenant_id, subject, after)
			select 'jo', 'key.rotate', tenant_id, $1, jsonb_build_object('replaced_by', id) from made`, old)
		assert.True(
			t,
			(err != nil && strings.Contains(err.Error(), "too old to rotate")) == refused,
			"rotation of",
			old,
			err,
		)
	}
}
