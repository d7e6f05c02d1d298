package store_test

import (
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// endUndoTime makes all revocations final, as 15 minutes do.
const endUndoTime = `
	alter table api_keys disable trigger api_keys_revocation;
	update api_keys set revocation_final_at = clock_timestamp() where revoked_at is not null;
	alter table api_keys enable trigger api_keys_revocation`

// TestUnrevoke: within 15 minutes, by the login that revoked the key or by the owner, also with SQL.
func TestUnrevoke(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	key, _ := o.issue(t, "acme")
	colleague := storetest.Open(t, storetest.As(t, o.URL, storetest.ColleagueLogin), store.Options{})
	owner := storetest.Open(t, o.URL, store.Options{})
	revoke := func() {
		t.Helper()
		_, err := o.service().Revoke(t.Context(), jo, key.ID)
		assert.NoError(t, err)
	}
	_, err := o.Keys.Unrevoke(t.Context(), jo, key.ID, noon)
	assert.ErrorIs(t, err, keys.ErrKeyNotRevoked, "a key that is not revoked")
	for _, by := range []*store.DB{o.DB, owner} {
		revoke()
		_, err := colleague.Keys.Unrevoke(t.Context(), jo, key.ID, noon)
		assert.ErrorIs(t, err, keys.ErrRevokedByOther, "a colleague")
		all := o.everything(t)
		if _, err := by.Keys.Unrevoke(t.Context(), dry, key.ID, noon); err != nil {
			t.Error(err)
		}
		assert.DeepEqual(t, o.everything(t), all, "a dry run left something behind")
		after, err := by.Keys.Unrevoke(t.Context(), jo, key.ID, noon)
		assert.Result(t, after, err, key)
	}
	if r := o.last(t); r.Action != "key.unrevoke" || r.Subject != key.ID || r.Before["revoked_at"] == nil || r.After["revoked_at"] != nil {
		t.Errorf("remembered %+v", r)
	}

	revoke()
	o.exec(t, endUndoTime)
	for _, by := range []*store.DB{o.DB, owner} {
		_, err := by.Keys.Unrevoke(t.Context(), jo, key.ID, noon)
		assert.ErrorIs(t, err, keys.ErrRevocationFinal, "after 15 minutes")
	}
}

// TestUnrevokeBySQL: what the trigger refuses to support.
func TestUnrevokeBySQL(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	key, _ := o.issue(t, "acme")
	_, err := o.service().Revoke(t.Context(), jo, key.ID)
	assert.NoError(t, err)
	sam, sue := connect(t, o.SupportURL), connect(t, storetest.As(t, o.URL, storetest.ColleagueLogin))
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
	o.exec(t, `update api_keys set revoked_by = 'sue', revocation_final_at = now() + interval '1 year'`)
	if got := o.text(t, `select revoked_by || ' ' || (revocation_final_at < now() + interval '16 minutes') from api_keys`); got != "sam true" {
		t.Errorf("revoked by %s", got)
	}
	o.exec(t, endUndoTime)
	if _, err := sam.ExecContext(t.Context(), `update api_keys set revoked_at = null`); err == nil {
		t.Error("the key was brought back after 15 minutes")
	}
}

// TestUnrevokeWithTheFullNumber: a key that comes back counts as one of the active ones.
func TestUnrevokeWithTheFullNumber(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	key, _ := o.issue(t, "acme")
	_, err := o.service().Revoke(t.Context(), audit.By{Actor: "jo"}, key.ID)
	assert.NoError(t, err)
	for range keys.MaxActive {
		o.issue(t, "acme")
	}
	_, err = o.Keys.Unrevoke(t.Context(), jo, key.ID, noon)
	assert.ErrorIs(t, err, keys.ErrTooManyKeys, "an eleventh")
}

// TestUndoOfARotationKeepsTheMaximum: a key that a rotation let expire takes a place again.
func TestUndoOfARotationKeepsTheMaximum(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	s := &keys.Service{Store: o.Keys, Clock: time.Now}
	issue := func() keys.Key {
		t.Helper()
		k, _, err := s.Issue(t.Context(), jo, keys.Request{Tenant: "acme", Name: "ci", Environment: keys.Live})
		assert.NoError(t, err)
		return k
	}
	_, _, _, err := s.Rotate(t.Context(), jo, issue().ID, keys.Rotation{})
	assert.NoError(t, err)
	entries, err := store.Collect(o.Audit.List(t.Context(), trail.Filter{Limit: 2}))
	if err != nil || len(entries) != 2 || entries[1].Action != "key.rotate" {
		t.Fatalf("%+v, %v", entries, err)
	}
	for range keys.MaxActive - 1 {
		issue()
	}
	_, err = o.Undos.Do(t.Context(), jo, []int64{entries[1].Number}, time.Now())
	assert.ErrorIs(t, err, keys.ErrTooManyKeys, "an eleventh active key")
}
