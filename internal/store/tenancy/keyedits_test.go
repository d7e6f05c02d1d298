package tenancy_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

func TestUnknownKey(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	const id = "key_0000000000000000"
	_, _, err := o.Keys.Edit(t.Context(), fixture.Jo, id, keys.Edit{PerMinute: new(int64)}, fixture.Noon)
	assert.ErrorIs(t, err, keys.ErrKeyNotFound, "edit")
	_, err = o.Keys.Revoke(t.Context(), fixture.Jo, id, fixture.Noon)
	assert.ErrorIs(t, err, keys.ErrKeyNotFound, "revoke")
	_, _, err = o.Service().Rotate(t.Context(), fixture.Jo, id, keys.Rotation{})
	assert.ErrorIs(t, err, keys.ErrKeyNotFound, "rotate")
}

func TestEditExpiry(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	key, token := o.Issue(t, "acme")
	for _, step := range []struct {
		name    string
		expires time.Time
		now     time.Time
		want    error
	}{
		{"an hour from now", fixture.Noon.Add(time.Hour), fixture.Noon, nil},
		{"this instant", fixture.Noon, fixture.Noon, keys.ErrExpiryPast},
		{"later", fixture.Noon.Add(2 * time.Hour), fixture.Noon.Add(time.Hour - time.Microsecond), nil},
		{"once it has expired", fixture.Noon.Add(3 * time.Hour), fixture.Noon.Add(2 * time.Hour), keys.ErrKeyExpired},
		{"never, once it has expired", time.Time{}, fixture.Noon.Add(2 * time.Hour), keys.ErrKeyExpired},
		{"never", time.Time{}, fixture.Noon, nil},
	} {
		before, err := o.Keys.Get(t.Context(), key.ID)
		assert.NoError(t, err)
		want := step.expires
		if step.want != nil {
			want = before.ExpiresAt
		}
		_, _, err = o.Keys.Edit(t.Context(), fixture.Jo, key.ID, keys.Edit{ExpiresAt: &step.expires}, step.now)
		assert.ErrorIs(t, err, step.want, step.name)
		if c, err := o.API.Keys.Caller(
			t.Context(),
			token.Digest(),
			fixture.Noon,
		); err != nil ||
			!c.ExpiresAt.Equal(want) {
			t.Errorf("%s: it expires at %v, %v, want %v", step.name, c.ExpiresAt, err, want)
		}
	}
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	before, oldToken, err := o.Service().Issue(t.Context(), fixture.Jo, keys.Request{
		Tenant: "acme", Name: "ci", Environment: keys.Test, PerMinute: 50,
	})
	assert.NoError(t, err)
	r, token, err := o.Service().Rotate(t.Context(), fixture.Jo, before.ID, keys.Rotation{GracePeriod: time.Hour})
	assert.NoError(t, err)
	wantOld, wantNew := before, before
	wantOld.ExpiresAt, wantOld.ReplacedBy = fixture.Noon.Add(time.Hour), r.New.ID
	wantNew.ID, wantNew.Last4 = r.New.ID, token.Last4()
	assert.DeepEqual(t, r, keys.Rotated{Old: wantOld, New: wantNew}, "rotated")
	for text, want := range map[string]keys.Key{oldToken.Reveal(): wantOld, token.Reveal(): wantNew} {
		found, err := o.Service().Identify(t.Context(), text)
		assert.Result(t, found, err, want, "found")
	}

	// A key is rotated once, until its replacement is revoked. An expiry that comes before stays,
	// and a key that is not kept is no good at once.
	all := o.Everything(t)
	_, _, err = o.Service().Rotate(t.Context(), fixture.Jo, before.ID, keys.Rotation{})
	var rotated *keys.AlreadyRotatedError
	assert.True(t, errors.As(err, &rotated) && rotated.ID == r.New.ID, "rotated again", err)
	assert.DeepEqual(t, o.Everything(t), all, "a refused rotation left something behind")
	_, err = o.Service().Revoke(t.Context(), fixture.Jo, r.New.ID)
	assert.NoError(t, err)
	again, _, err := o.Service().Rotate(
		t.Context(), fixture.Jo, before.ID, keys.Rotation{GracePeriod: keys.MaxGracePeriod})
	assert.Result(t, again.Old.ExpiresAt, err, wantOld.ExpiresAt, "the expiry")
	last, _, err := o.Service().Rotate(t.Context(), fixture.Jo, again.New.ID, keys.Rotation{})
	assert.Result(t, last.Old.Status(fixture.Noon), err, keys.Expired, "not kept")
}

// TestGracePeriods: beside the keys that have no replacement ten are in their grace period. A
// further rotation ends that of the key that was rotated first, which an undo brings back.
func TestGracePeriods(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	s := &keys.Service{Store: o.Keys, Clock: time.Now}
	var first []string
	rotate := func(id string) keys.Rotated {
		t.Helper()
		r, _, err := s.Rotate(t.Context(), fixture.Jo, id, keys.Rotation{GracePeriod: time.Hour})
		assert.NoError(t, err)
		return r
	}
	var last keys.Rotated
	for range keys.MaxActive {
		k, _, err := s.Issue(t.Context(), fixture.Jo, fixture.IssueRequest("acme"))
		assert.NoError(t, err)
		first = append(first, k.ID)
	}
	for _, id := range slices.Backward(first) {
		last = rotate(id)
		assert.Equal(t, len(last.Ended), 0, "ended too early", last.Ended)
	}
	_, _, err := s.Issue(t.Context(), fixture.Jo, fixture.IssueRequest("acme"))
	assert.ErrorIs(t, err, keys.ErrTooManyKeys, "an eleventh")
	n, err := o.Keys.CountActive(t.Context(), last.New.TenantID, time.Now())
	assert.Result(t, n, err, 2*keys.MaxActive, "active keys")

	was := o.Text(t, `select max(number)::text from audit_entries`)
	eleventh := rotate(last.New.ID)
	assert.DeepEqual(t, eleventh.Ended, first[len(first)-1:], "the one that was rotated first")
	ended, err := o.Keys.Get(t.Context(), eleventh.Ended[0])
	assert.Result(t, ended.Status(time.Now()), err, keys.Expired, "its status")
	var numbers []int64
	o.Rows(t, &numbers, `select number from audit_entries where number > `+was+` order by number`)
	_, err = o.Undos.Do(t.Context(), fixture.Jo, numbers, time.Now())
	assert.NoError(t, err)
	back, err := o.Keys.Get(t.Context(), eleventh.Ended[0])
	assert.Result(t, back.Status(time.Now()), err, keys.Active, "after the undo")
	n, err = o.Keys.CountActive(t.Context(), last.New.TenantID, time.Now())
	assert.Result(t, n, err, 2*keys.MaxActive, "active keys after the undo")
}

// TestRotateBannedKey: the key that takes the place of a banned one is banned as long, for the same
// reason.
func TestRotateBannedKey(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	key, _ := o.Issue(t, "acme")
	long, err := o.Bans.Place(
		t.Context(),
		fixture.Jo,
		tenancy.NewBan{KeyID: key.ID, Length: 2 * time.Hour, Reason: "abuse"},
		fixture.Noon,
	)
	assert.NoError(t, err)
	r, _, err := o.Service().Rotate(t.Context(), fixture.Jo, key.ID, keys.Rotation{GracePeriod: time.Hour})
	assert.NoError(t, err)
	old, issued := r.Old, r.New
	bans, err := store.Collect(o.Bans.List(t.Context(), tenancy.BanFilter{KeyID: issued.ID, Limit: 9}, fixture.Noon))
	if err != nil || len(bans) != 1 {
		t.Fatalf("the new key has %d bans, error %v", len(bans), err)
	}
	want := long
	want.ID, want.KeyID = bans[0].ID, issued.ID
	assert.DeepEqual(t, bans[0], want, "ban of the new key")
	if r := lastEntry(t, o); r.Action != "ban.place" || r.Subject != issued.ID || r.After["source"] != "staff" {
		t.Errorf("remembered %+v", r)
	}
	if bans, err := store.Collect(
		o.Bans.List(t.Context(), tenancy.BanFilter{KeyID: old.ID, Limit: 9}, fixture.Noon),
	); err != nil ||
		len(bans) != 1 {
		t.Errorf("the old key has %d bans, error %v", len(bans), err)
	}

	// A ban that is over is not carried.
	_, err = o.Bans.Lift(t.Context(), fixture.Jo, issued.ID, fixture.Noon)
	assert.NoError(t, err)
	r, _, err = o.Service().Rotate(t.Context(), fixture.Jo, issued.ID, keys.Rotation{})
	assert.NoError(t, err)
	issued = r.New
	if bans, err := store.Collect(
		o.Bans.List(t.Context(), tenancy.BanFilter{KeyID: issued.ID, Past: true, Limit: 9}, fixture.Noon),
	); err != nil ||
		len(bans) != 0 {
		t.Errorf("a ban that was lifted is carried over: %+v, error %v", bans, err)
	}
}

// endUndoTime makes all revocations final, as 15 minutes do.
const endUndoTime = `
	alter table api_keys disable trigger api_keys_revocation;
	update api_keys set revocation_final_at = clock_timestamp() where revoked_at is not null;
	alter table api_keys enable trigger api_keys_revocation`

// TestUnrevoke: within 15 minutes, by the login that revoked the key or by the owner, also with
// SQL.
func TestUnrevoke(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	key, _ := o.Issue(t, "acme")
	colleague := storetest.Open(t, storetest.As(t, o.URL, storetest.ColleagueLogin), store.Options{})
	owner := storetest.Open(t, o.URL, store.Options{})
	revoke := func() {
		t.Helper()
		_, err := o.Service().Revoke(t.Context(), fixture.Jo, key.ID)
		assert.NoError(t, err)
	}
	_, err := o.Keys.Unrevoke(t.Context(), fixture.Jo, key.ID, fixture.Noon)
	assert.ErrorIs(t, err, keys.ErrKeyNotRevoked, "a key that is not revoked")
	for _, by := range []*store.DB{o.DB, owner} {
		revoke()
		_, err := colleague.Keys.Unrevoke(t.Context(), fixture.Jo, key.ID, fixture.Noon)
		assert.ErrorIs(t, err, keys.ErrRevokedByOther, "a colleague")
		all := o.Everything(t)
		_, err = by.Keys.Unrevoke(t.Context(), fixture.Dry, key.ID, fixture.Noon)
		assert.Equal(t, err, nil)
		assert.DeepEqual(t, o.Everything(t), all, "a dry run left something behind")
		after, err := by.Keys.Unrevoke(t.Context(), fixture.Jo, key.ID, fixture.Noon)
		assert.Result(t, after, err, key)
	}
	if r := lastEntry(t, o); r.Action != "key.unrevoke" || r.Subject != key.ID || r.Before["revoked_at"] == nil ||
		r.After["revoked_at"] != nil {
		t.Errorf("remembered %+v", r)
	}

	revoke()
	o.Exec(t, endUndoTime)
	for _, by := range []*store.DB{o.DB, owner} {
		_, err := by.Keys.Unrevoke(t.Context(), fixture.Jo, key.ID, fixture.Noon)
		assert.ErrorIs(t, err, keys.ErrRevocationFinal, "after 15 minutes")
	}
}

// TestUnrevokeBySQL: what the trigger refuses to support.
func TestUnrevokeBySQL(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	key, _ := o.Issue(t, "acme")
	_, err := o.Service().Revoke(t.Context(), fixture.Jo, key.ID)
	assert.NoError(t, err)
	sam, sue := fixture.Connect(t, o.SupportURL), fixture.Connect(t, storetest.As(t, o.URL, storetest.ColleagueLogin))
	if _, err := sue.ExecContext(t.Context(), `update api_keys set revoked_at = null`); err == nil {
		t.Error("a colleague brought the key back")
	}
	for _, statement := range []string{
		`update api_keys set revoked_at = now() + interval '1 year'`,
		`update api_keys set revoked_by = 'sue'`,
		`update api_keys set revocation_final_at = 'infinity'`,
	} {
		if _, err := sam.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s succeeded", statement)
		}
	}
	// Not even the owner changes who revoked it.
	o.Exec(t, `update api_keys set revoked_by = 'sue', revocation_final_at = now() + interval '1 year'`)
	o.Want(
		t,
		"sam true",
		`select revoked_by || ' ' || (revocation_final_at < now() + interval '16 minutes') from api_keys`,
	)
	o.Exec(t, endUndoTime)
	if _, err := sam.ExecContext(t.Context(), `update api_keys set revoked_at = null`); err == nil {
		t.Error("the key was brought back after 15 minutes")
	}
}

// TestUnrevokeWithTheFullNumber: a key that comes back counts as one of the active ones.
func TestUnrevokeWithTheFullNumber(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	key, _ := o.Issue(t, "acme")
	_, err := o.Service().Revoke(t.Context(), audit.By{Actor: "jo"}, key.ID)
	assert.NoError(t, err)
	for range keys.MaxActive {
		o.Issue(t, "acme")
	}
	_, err = o.Keys.Unrevoke(t.Context(), fixture.Jo, key.ID, fixture.Noon)
	assert.ErrorIs(t, err, keys.ErrTooManyKeys, "an eleventh")
}

// TestUndoOfARotationKeepsTheMaximum: a key that a rotation let expire takes a place again.
func TestUndoOfARotationKeepsTheMaximum(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	s := &keys.Service{Store: o.Keys, Clock: time.Now}
	issue := func() keys.Key {
		t.Helper()
		k, _, err := s.Issue(t.Context(), fixture.Jo, keys.Request{Tenant: "acme", Name: "ci", Environment: keys.Live})
		assert.NoError(t, err)
		return k
	}
	_, _, err := s.Rotate(t.Context(), fixture.Jo, issue().ID, keys.Rotation{})
	assert.NoError(t, err)
	entries, err := store.Collect(o.Audit.List(t.Context(), trail.Filter{Limit: 2}))
	if err != nil || len(entries) != 2 || entries[1].Action != "key.rotate" {
		t.Fatalf("%+v, %v", entries, err)
	}
	for range keys.MaxActive - 1 {
		issue()
	}
	_, err = o.Undos.Do(t.Context(), fixture.Jo, []int64{entries[1].Number}, time.Now())
	assert.ErrorIs(t, err, keys.ErrTooManyKeys, "an eleventh active key")
}

// TestKeyAccess: what a key may do, and from where, is that of its caller; a rotation carries it,
// and an undo restores it. A server of the last release, which knows neither, does not find the
// key.
func TestKeyAccess(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	read, ranges, write, manage, anywhere := keys.ScopeRead, keys.Ranges(
		"203.0.113.0/24,2001:db8::1",
	), keys.ScopeWrite, keys.ScopeManage, keys.Ranges(
		"",
	)
	key, token, err := o.Service().Issue(
		t.Context(),
		fixture.Jo,
		keys.Request{Tenant: "acme", Environment: keys.Live, Scope: read, Allowed: ranges},
	)
	assert.NoError(t, err)
	expect := func(what string, token keys.Token, scope keys.Scope, allowed keys.Ranges) {
		t.Helper()
		want, err := keys.NewAccess(scope, allowed)
		assert.NoError(t, err)
		caller, err := o.API.Keys.Caller(t.Context(), token.Digest(), fixture.Noon)
		if err != nil || fmt.Sprint(caller.Access) != fmt.Sprint(want) {
			t.Errorf("%s: the caller has %v, %v, want %v", what, caller.Access, err, want)
		}
		var found bool
		digest := token.Digest()
		err = o.Owner.GetContext(
			t.Context(),
			&found,
			`select exists (select from find_caller($1, $2))`,
			digest[:],
			fixture.Noon,
		)
		assert.Result(t, found, err, want == nil, what, "found by a server of the last release")
	}
	expect("issued", token, read, ranges)
	assert.Equal(t, string(key.Scope)+" "+string(key.Allowed), "read "+string(ranges))

	r, next, err := o.Service().Rotate(t.Context(), fixture.Jo, key.ID, keys.Rotation{GracePeriod: time.Hour})
	assert.NoError(t, err)
	old, issued := r.Old, r.New
	expect("rotated", next, read, ranges)
	assert.Equal(t, old.Allowed, ranges, "addresses of the old key")

	_, _, err = o.Service().Edit(t.Context(), fixture.Jo, issued.ID, keys.Edit{Scope: &manage, Allowed: &anywhere})
	assert.NoError(t, err)
	expect("a manage key", next, manage, anywhere)
	_, _, err = o.Service().Edit(t.Context(), fixture.Jo, issued.ID, keys.Edit{Scope: &read, Allowed: &ranges})
	assert.NoError(t, err)

	_, after, err := o.Service().Edit(t.Context(), fixture.Jo, issued.ID, keys.Edit{Scope: &write, Allowed: &anywhere})
	assert.Result(t, string(after.Scope)+string(after.Allowed), err, "write", "edited")
	expect("edited", next, write, anywhere)
	entry := lastEntry(t, o)
	assert.Equal(
		t,
		fmt.Sprint(entry.Before["scope"], entry.Before["allowed_addresses"], entry.After["scope"]),
		fmt.Sprint(read, ranges, "<nil>"),
	)

	// What petstorectl would refuse, such as a mapped block, does not become "any address" by
	// another edit.
	_, err = o.Owner.ExecContext(
		t.Context(),
		`update api_keys set allowed = '{::ffff:10.0.0.0/104}' where id = $1`,
		issued.ID,
	)
	assert.NoError(t, err)
	name := "by hand"
	_, after, err = o.Service().Edit(t.Context(), fixture.Jo, issued.ID, keys.Edit{Name: &name})
	assert.Result(t, after.Allowed, err, "::ffff:10.0.0.0/104", "after another edit")
	bad := keys.Scope("admin")
	_, _, err = o.Service().Edit(t.Context(), fixture.Jo, issued.ID, keys.Edit{Scope: &bad})
	assert.ErrorIs(t, err, keys.ErrScope)
}
