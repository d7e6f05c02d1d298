package people_test

import (
	"cmp"
	"context"
	"encoding/json"
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
	"petstore.example/internal/store/people"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// selfService is an office whose tenant acme manages its keys by one of them.
type selfService struct {
	fixture.Office
	staff *keys.Service
	boss  keys.Key
	asker keys.Digest
	acme  plans.Tenant
}

func newSelfService(t *testing.T) selfService {
	t.Helper()
	o := fixture.NewOffice(t)
	s := selfService{Office: o, staff: &keys.Service{Store: o.Keys}, acme: o.Tenant(t, "acme", plans.Pro)}
	s.boss, s.asker = s.key(t, keys.Request{Scope: keys.ScopeManage})
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
	asker keys.Digest,
	c keys.OwnChange,
	once *catalog.Idempotency,
) (keys.Own, error) {
	id, err := keys.NewID()
	token, err2 := keys.NewToken(keys.Live)
	if err = errors.Join(err, err2); err != nil {
		return keys.Own{}, err
	}
	if c.Token == (keys.Token{}) {
		c.Token = token
	}
	if c.Action == "key.issue" {
		c.ID = id
		c.Edit = newKey(c.Edit)
	}
	c.NewID = id
	return s.API.OwnKeys.Change(ctx, s.acme.ID, asker, c, once)
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

// entries are those after a number, the oldest first, as text without what differs by chance: IDs,
// ends of keys and the instants, whose form it checks.
func (s selfService) entries(t *testing.T, after int64) (texts []string, numbers []int64) {
	t.Helper()
	list, err := store.Collect(s.Audit.List(t.Context(), trail.Filter{OldestFirst: true}))
	assert.NoError(t, err)
	for _, e := range list {
		if e.Number <= after {
			continue
		}
		_, hidden, err := s.Audit.Get(t.Context(), e.Number)
		assert.NoError(t, err)
		text := e.Action
		for _, record := range []json.RawMessage{e.Before, e.After} {
			members := map[string]any{}
			if len(record) > 0 {
				assert.NoError(t, json.Unmarshal(record, &members))
			}
			for name, value := range members {
				switch {
				case strings.HasSuffix(name, "_at"):
					at, err := time.Parse(time.RFC3339Nano, value.(string))
					assert.Result(t, at.UTC().Format(time.RFC3339Nano), err, value.(string), name)
					members[name] = "an instant"
				case slices.Contains([]string{"id", "key_id", "last4", "replaced_by"}, name):
					members[name] = "differs"
				}
			}
			text += fmt.Sprint(" ", members)
		}
		if hidden != nil {
			text += fmt.Sprint(" ", *hidden)
		}
		texts, numbers = append(texts, text), append(numbers, e.Number)
	}
	return texts, numbers
}

func (s selfService) lastNumber(t *testing.T) int64 {
	t.Helper()
	_, numbers := s.entries(t, 0)
	return numbers[len(numbers)-1]
}

// TestOwnChangesAreAudited: each change that a customer makes leaves the entries that the same
// change by staff leaves, and an undo takes it back.
func TestOwnChangesAreAudited(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	name, read, ranges := "nightly", keys.ScopeRead, keys.Ranges("10.0.0.0/8,192.0.2.1,2001:db8::/32,2001:db8:1::1")
	perMinute, none, later, never := int64(50), int64(0), time.Now().Add(time.Hour), time.Time{}
	for _, c := range []struct {
		name   string
		key    keys.Request
		banned bool
		change keys.OwnChange
		staff  func(id string) error
	}{
		{name: "issue", change: keys.OwnChange{Action: "key.issue"}, staff: func(string) error {
			_, _, err := s.staff.Issue(t.Context(), fixture.Jo, keys.Request{Tenant: "acme", Environment: keys.Live})
			return err
		}},
		{
			name: "issue with all",
			change: keys.OwnChange{Action: "key.issue",
				Edit: keys.Edit{Name: &name, Scope: &read, Allowed: &ranges, PerMinute: &perMinute, ExpiresAt: &later}},
			staff: func(string) error {
				_, _,
					err := s.staff.Issue(t.Context(), fixture.Jo,
					keys.Request{Tenant: "acme", Environment: keys.Live, Name: name, Scope: read, Allowed: ranges,
						PerMinute: perMinute, ExpiresAt: later})
				return err
			},
		},
		{name: "edit",
			change: keys.OwnChange{Action: "key.edit",
				Edit: keys.Edit{Scope: &read, Allowed: &ranges, PerMinute: &perMinute, ExpiresAt: &later}}},
		{name: "rename", key: keys.Request{Name: "old"},
			change: keys.OwnChange{Action: "key.edit", Edit: keys.Edit{Name: &name}}},
		{
			name: "remove", key: keys.Request{Name: "old", Allowed: "::1", PerMinute: 5, ExpiresAt: later},
			change: keys.OwnChange{Action: "key.edit",
				Edit: keys.Edit{Name: new(string), Allowed: new(keys.Ranges), PerMinute: &none, ExpiresAt: &never}},
		},
		{name: "no change", key: keys.Request{Name: name},
			change: keys.OwnChange{Action: "key.edit", Edit: keys.Edit{Name: &name}}},
		{name: "rotate", key: keys.Request{Name: name, Scope: read, Allowed: ranges},
			change: keys.OwnChange{Action: "key.rotate", GracePeriod: time.Hour}},
		{name: "rotate a banned key", banned: true,
			change: keys.OwnChange{Action: "key.rotate", GracePeriod: time.Hour}},
		{name: "revoke", key: keys.Request{Name: name}, change: keys.OwnChange{Action: "key.revoke"}},
	} {
		own, _ := s.key(t, c.key)
		twin, _ := s.key(t, c.key)
		for _, id := range []string{own.ID, twin.ID} {
			if c.banned {
				_, err := s.Bans.Place(
					t.Context(),
					fixture.Jo,
					people.NewBan{KeyID: id, Length: time.Hour, Reason: "abuse"},
					time.Now(),
				)
				assert.NoError(t, err)
			}
		}
		before, was := s.lastNumber(t), s.keysText(t)
		c.change.ID = own.ID
		_, err := s.change(t.Context(), s.asker, c.change, nil)
		assert.NoError(t, err)
		byCustomer, numbers := s.entries(t, before)
		if len(numbers) > 0 {
			_, err = s.Undos.Do(t.Context(), fixture.Jo, numbers, time.Now())
			assert.NoError(t, err)
		}
		if c.change.Action != "key.issue" && c.change.Action != "key.rotate" {
			assert.Equal(t, s.keysText(t), was, c.name, "after the undo")
		}
		before = s.lastNumber(t)
		assert.NoError(t, s.byStaff(t, twin.ID, c.change, c.staff))
		byStaff, _ := s.entries(t, before)
		assert.DeepEqual(t, byCustomer, byStaff, c.name)
		s.Exec(t, `update api_keys set revoked_at = now() where revoked_at is null and scope <> 'manage'`)
	}
	entries, err := store.Collect(s.Audit.List(t.Context(), trail.Filter{Actor: "key:" + s.boss.ID}))
	assert.True(t, err == nil && len(entries) > 8, "entries of the key", len(entries), err)
}

// byStaff makes the same change by staff.
func (s selfService) byStaff(t *testing.T, id string, c keys.OwnChange, issue func(string) error) (err error) {
	t.Helper()
	switch c.Action {
	case "key.issue":
		err = issue(id)
	case "key.edit":
		_, _, err = s.staff.Edit(t.Context(), fixture.Jo, id, c.Edit)
	case "key.rotate":
		_, _, err = s.staff.Rotate(t.Context(), fixture.Jo, id, keys.Rotation{GracePeriod: c.GracePeriod})
	default:
		_, err = s.staff.Revoke(t.Context(), fixture.Jo, id)
	}
	return err
}

func (s selfService) keysText(t *testing.T) string {
	t.Helper()
	return s.Text(
		t,
		`select string_agg(concat_ws(' ', id, name, per_minute, revoked_at is not null, expires_at, scope, allowed),
			E'\n' order by id) from api_keys`,
	)
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
		people.NewBan{KeyID: banned.ID, Length: time.Hour, Reason: "abuse"},
		time.Now(),
	)
	assert.NoError(t, err)
	s.Exec(t, `update api_keys set scope = 'read' where id = $1`, banned.ID) // The last manage key is s.boss.
	read, past, soon, sole := keys.ScopeRead, time.Now().Add(-time.Second), time.Now().Add(
		time.Hour,
	), keys.ErrLastManageKey
	edit := func(id string) keys.OwnChange {
		return keys.OwnChange{Action: "key.edit", ID: id, Edit: keys.Edit{Scope: &read}}
	}
	for _, c := range []struct {
		name   string
		asker  keys.Digest
		change keys.OwnChange
		want   error
	}{
		{"an unknown key asks", keys.Digest{1}, keys.OwnChange{Action: "key.issue"}, keys.ErrAsker},
		{"a revoked key asks", goner, keys.OwnChange{Action: "key.issue"}, keys.ErrAsker},
		{"a revoked key", goner, keys.OwnChange{Action: "key.issue"}, keys.StatusError(keys.Revoked)},
		{"a banned key asks", bannedKey, keys.OwnChange{Action: "key.revoke", ID: banned.ID}, keys.ErrAskerBanned},
		{"a key that may write asks", writer, keys.OwnChange{Action: "key.issue"}, keys.ErrAskerScope},
		{"it rotates another", writer, keys.OwnChange{Action: "key.rotate", ID: s.boss.ID}, keys.ErrAskerScope},
		{"it revokes another", writer, keys.OwnChange{Action: "key.revoke", ID: s.boss.ID}, keys.ErrAskerScope},
		{"an unknown key", s.asker, edit("key_0000000000000000"), keys.ErrKeyNotFound},
		{"another tenant's", s.asker, edit(theirs.ID), keys.ErrKeyNotFound},
		{"another tenant's, to rotate", s.asker, keys.OwnChange{Action: "key.rotate", ID: theirs.ID},
			keys.ErrKeyNotFound},
		{"another tenant's, to revoke", zoo, keys.OwnChange{Action: "key.revoke", ID: write.ID}, keys.ErrKeyNotFound},
		{"a live key by a test key", tester, keys.OwnChange{Action: "key.rotate", ID: write.ID}, keys.ErrKeyNotFound},
		{"a revoked key", s.asker, edit(gone.ID), keys.ErrKeyInactive},
		{"another version", s.asker,
			keys.OwnChange{Action: "key.edit", ID: write.ID, Version: "x", Edit: keys.Edit{Scope: &read}},
			keys.ErrKeyChanged},
		{"an expiry in the past", s.asker,
			keys.OwnChange{Action: "key.edit", ID: write.ID, Edit: keys.Edit{ExpiresAt: &past}}, keys.ErrExpiryPast},
		{"a new key that has expired", s.asker,
			keys.OwnChange{Action: "key.issue", Edit: keys.Edit{ExpiresAt: &past}}, keys.ErrExpiryPast},
		{"the last one narrowed", s.asker, edit(s.boss.ID), sole},
		{"the last one, soon expired", s.asker,
			keys.OwnChange{Action: "key.edit", ID: s.boss.ID, Edit: keys.Edit{ExpiresAt: &soon}}, sole},
		{"the last one revoked", s.asker, keys.OwnChange{Action: "key.revoke", ID: s.boss.ID}, sole},
	} {
		before := s.lastNumber(t)
		_, err := s.change(t.Context(), c.asker, c.change, nil)
		assert.ErrorIs(t, err, c.want, c.name)
		assert.Equal(t, s.lastNumber(t), before, c.name, "entries")
	}
	_, err = s.change(t.Context(), writer, keys.OwnChange{Action: "key.revoke", ID: write.ID, Reason: "it leaked"}, nil)
	assert.NoError(t, err)
	again, err := s.change(t.Context(), s.asker, keys.OwnChange{Action: "key.revoke", ID: write.ID}, nil)
	assert.True(t, err == nil && !again.RevokedAt.IsZero(), "revoked again", again, err)
	entry := lastEntry(t, s.Office)
	assert.Equal(t, fmt.Sprint(entry.Action, entry.Reason, entry.After["redacted"]), "key.revoke[reason]")
	made, err := s.change(t.Context(), tester, keys.OwnChange{Action: "key.issue"}, nil)
	assert.Result(t, made.Environment, err, keys.Test, "made by a test key")
	_, err = s.Tenants.Suspend(t.Context(), fixture.Jo, "acme", time.Time{})
	assert.NoError(t, err)
	_, err = s.change(t.Context(), s.asker, keys.OwnChange{Action: "key.issue"}, nil)
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
		change      keys.OwnChange
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
			change:  keys.OwnChange{Action: "key.edit", Edit: edit{Allowed: new(keys.Ranges(elsewhere))}}},
		{name: "addresses with this one", other: keys.Request{Scope: keys.ScopeWrite}, from: "203.0.113.9",
			change: keys.OwnChange{Action: "key.edit", Edit: edit{Allowed: new(keys.Ranges(here))}}},
		{name: "addresses with another one", from: "203.0.113.9",
			change: keys.OwnChange{Action: "key.edit", Edit: edit{Allowed: new(keys.Ranges(elsewhere))}}},
		{name: "a name", other: keys.Request{Scope: keys.ScopeWrite}, last: keys.Request{Allowed: elsewhere},
			from: "203.0.113.9", change: keys.OwnChange{Action: "key.edit", Edit: edit{Name: new("x")}}},
		{name: "a rotation", other: keys.Request{Scope: keys.ScopeWrite}, last: keys.Request{Allowed: elsewhere},
			from: "203.0.113.9", change: keys.OwnChange{Action: "key.rotate"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSelfService(t)
			c.last.Scope = keys.ScopeManage
			c.other.Scope = cmp.Or(c.other.Scope, keys.ScopeManage)
			last, asker := s.key(t, c.last)
			s.key(t, c.other)
			assert.NoError(t, fixture.ErrorOf(s.staff.Revoke(t.Context(), fixture.Jo, s.boss.ID)))
			c.change.ID, c.change.Action = last.ID, cmp.Or(c.change.Action, "key.revoke")
			c.change.From, _ = netip.ParseAddr(c.from) // zero for ""
			_, err := s.change(t.Context(), asker, c.change, nil)
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
		s.asker,
		keys.OwnChange{Action: "key.rotate", ID: s.boss.ID, GracePeriod: time.Hour},
		nil,
	)
	assert.NoError(t, err)
	revoke := func(id string) error {
		return fixture.ErrorOf(s.change(t.Context(), s.asker, keys.OwnChange{Action: "key.revoke", ID: id}, nil))
	}
	assert.ErrorIs(t, revoke(made.ID), keys.ErrLastManageKey, "the new one")
	assert.NoError(t, revoke(s.boss.ID), "the old one")
}

// TestOwnKeysAreAtMostTen: a key counts until it expires, and makes room then.
func TestOwnKeysAreAtMostTen(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	expiring, _ := s.key(t, keys.Request{ExpiresAt: time.Now().Add(time.Hour)})
	for range keys.MaxActive - 2 { // beside the manager's own
		s.key(t, keys.Request{})
	}
	issue := func() error {
		return fixture.ErrorOf(s.change(t.Context(), s.asker, keys.OwnChange{Action: "key.issue"}, nil))
	}
	assert.ErrorIs(t, issue(), keys.ErrTooManyKeys, "an eleventh")
	s.Exec(t, `update api_keys set expires_at = now() where id = $1`, expiring.ID)
	assert.NoError(t, issue())
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
		return fixture.ErrorOf(s.change(t.Context(), s.asker, keys.OwnChange{Action: "key.issue"}, nil))
	})
	assert.Equal(t, len(failed), 12-(keys.MaxActive-2), failed)
	for _, err := range failed {
		assert.ErrorIs(t, err, keys.ErrTooManyKeys)
	}
	failed = atOnce(2, func(i int) error {
		asker, target := s.asker, other.ID
		if i == 1 {
			asker, target = second, s.boss.ID
		}
		return fixture.ErrorOf(s.change(t.Context(), asker, keys.OwnChange{Action: "key.revoke", ID: target}, nil))
	})
	assert.True(t, len(failed) == 1 && errors.Is(failed[0], keys.ErrAsker), "each revokes the other", failed)
}

// TestOwnKeysOnce: a repeated request makes one key, whose secret nobody gets again. It is stored
// nowhere.
func TestOwnKeysOnce(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	token, err := keys.NewToken(keys.Live)
	assert.NoError(t, err)
	once := catalog.Idempotency{Method: "POST", Path: "/v1/keys", Key: "k", At: time.Now()}
	made, err := s.change(t.Context(), s.asker, keys.OwnChange{Action: "key.issue", Token: token}, &once)
	assert.NoError(t, err)
	_, err = s.change(t.Context(), s.asker, keys.OwnChange{Action: "key.issue"}, &once)
	var issued *keys.AlreadyIssuedError
	assert.True(t, errors.As(err, &issued) && issued.ID == made.ID, "replayed", err)
	once.Fingerprint[0] = 1
	_, err = s.change(t.Context(), s.asker, keys.OwnChange{Action: "key.issue"}, &once)
	assert.ErrorIs(t, err, catalog.ErrIdempotencyKeyReused)
	_, err = s.change(
		t.Context(),
		s.asker,
		keys.OwnChange{Action: "key.issue", Edit: keys.Edit{Name: new(token.Reveal())}},
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
						s.asker,
						keys.OwnChange{Action: "key.issue", Edit: keys.Edit{Name: &key}},
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
	list := func(asker keys.Digest, q keys.OwnQuery) (ids []string, err error) {
		if q.At = time.Now(); q.Limit == 0 {
			q.Limit = 100
		}
		all, err := s.API.OwnKeys.List(t.Context(), s.acme.ID, asker, q)
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
		s.asker,
		keys.OwnChange{Action: "key.rotate", ID: read.ID, GracePeriod: time.Hour},
		nil,
	)
	assert.NoError(t, err)
	assert.Equal(
		t,
		fmt.Sprint(made.Replaces, made.IssuedBy, made.Scope, made.Allowed),
		fmt.Sprint(read.ID, s.boss.ID, read.Scope, read.Allowed),
	)
	_, err = s.change(t.Context(), s.asker, keys.OwnChange{Action: "key.revoke", ID: made.ID}, nil)
	assert.NoError(t, err)
	all := []string{made.ID, staging.ID, read.ID, s.boss.ID}
	for name, c := range map[string]struct {
		asker keys.Digest
		q     keys.OwnQuery
		want  []string
	}{
		"all":      {s.asker, keys.OwnQuery{}, all},
		"a page":   {s.asker, keys.OwnQuery{Limit: 3}, all[:3]},
		"the next": {s.asker, keys.OwnQuery{AfterAt: read.CreatedAt, After: read.ID, Limit: 3}, all[3:]},
		"after one that is gone": {s.asker, keys.OwnQuery{
			AfterAt: read.CreatedAt.Add(time.Microsecond), After: "key_0000000000000000"}, all[2:]},
		"after all":      {s.asker, keys.OwnQuery{AfterAt: time.UnixMicro(0), After: "key_0000000000000000"}, nil},
		"before all":     {s.asker, keys.OwnQuery{AfterAt: time.UnixMicro(1<<63 - 1), After: read.ID}, all},
		"active":         {s.asker, keys.OwnQuery{Status: keys.Active}, all[1:]},
		"revoked":        {s.asker, keys.OwnQuery{Status: keys.Revoked}, all[:1]},
		"expired":        {s.asker, keys.OwnQuery{Status: keys.Expired}, nil},
		"the own":        {reader, keys.OwnQuery{ID: read.ID}, all[2:3]},
		"by a test key":  {tester, keys.OwnQuery{}, all[1:2]},
		"live to a test": {tester, keys.OwnQuery{ID: read.ID}, nil},
	} {
		got, err := list(c.asker, c.q)
		assert.NoError(t, err)
		assert.DeepEqual(t, got, c.want, name)
	}
	_, err = list(reader, keys.OwnQuery{})
	assert.ErrorIs(t, err, keys.ErrAskerScope, "all to a key that may read")
	s.Tenant(t, "zoo", plans.Pro)
	theirs, zoo := s.key(t, keys.Request{Tenant: "zoo", Scope: keys.ScopeManage})
	for _, id := range []string{theirs.ID, "key_0000000000000000"} {
		got, err := list(s.asker, keys.OwnQuery{ID: id})
		assert.True(t, err == nil && got == nil, id, got, err)
	}
	got, err := list(zoo, keys.OwnQuery{})
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
				s.asker[:], string(status)),
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
	change := func(c keys.OwnChange) error { return fixture.ErrorOf(s.change(t.Context(), s.asker, c, nil)) }
	assert.NoError(t, change(keys.OwnChange{Action: "key.issue"}), "on another day than those before")
	_, err := s.Owner.ExecContext(t.Context(), `
		update api_keys set created_at = now(), expires_at = now()
		where id in (select id from api_keys where expires_at < now() order by id limit $1)`, keys.MaxMadeADay-2)
	assert.NoError(t, err)
	rotation := keys.OwnChange{Action: "key.rotate", ID: s.boss.ID, GracePeriod: time.Hour}
	assert.NoError(t, change(rotation), "the last of the day")
	other, _ := s.key(t, keys.Request{})
	rotation.ID = other.ID
	for _, c := range []keys.OwnChange{{Action: "key.issue"}, rotation} {
		assert.ErrorIs(t, change(c), keys.ErrManyKeysMade, c.Action)
	}
	s.key(t, keys.Request{})
	assert.NoError(t, change(keys.OwnChange{Action: "key.revoke", ID: s.boss.ID}), "a revocation")
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
		s.asker[:],
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
