package store_test

import (
	"errors"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/people"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
)

func TestRotateKey(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	before, oldToken, err := o.service().Issue(t.Context(), jo, keys.Request{
		Tenant: "acme", Name: "ci", Environment: keys.Test, PerMinute: 50,
	})
	assert.NoError(t, err)
	all := o.everything(t)
	_, _, _, err = o.service().Rotate(t.Context(), dry, before.ID, keys.Rotation{GracePeriod: time.Hour})
	assert.NoError(t, err)
	assert.DeepEqual(t, o.everything(t), all, "a dry run left something behind")

	old, issued, token, err := o.service().Rotate(t.Context(), jo, before.ID, keys.Rotation{GracePeriod: time.Hour})
	assert.NoError(t, err)
	wantOld, wantNew := before, before
	wantOld.ExpiresAt, wantOld.ReplacedBy = noon.Add(time.Hour), issued.ID
	wantNew.ID, wantNew.Last4 = issued.ID, token.Last4()
	assert.DeepEqual(t, []keys.Key{old, issued}, []keys.Key{wantOld, wantNew}, "rotated")
	for text, want := range map[string]keys.Key{oldToken.Reveal(): wantOld, token.Reveal(): wantNew} {
		found, err := o.service().Identify(t.Context(), text)
		assert.Result(t, found, err, want, "found")
	}
	entries, err := store.Collect(o.Audit.List(t.Context(), trail.Filter{Limit: 2}))
	if err != nil || len(entries) != 2 || entries[0].Action != "key.issue" || entries[0].Subject != issued.ID ||
		entries[1].Action != "key.rotate" || entries[1].Subject != old.ID || entries[1].Reason != jo.Reason {
		t.Errorf("remembered %+v, %v", entries, err)
	}

	// An expiry that comes before stays, and a key that is not kept is no good at once.
	if old, _, _, err = o.service().Rotate(t.Context(), jo, old.ID, keys.Rotation{GracePeriod: keys.MaxGracePeriod}); err != nil || old.ExpiresAt != wantOld.ExpiresAt {
		t.Errorf("rotated again: %+v, want %+v; %v", old, wantOld, err)
	}
	if old, _, _, err = o.service().Rotate(t.Context(), jo, old.ID, keys.Rotation{}); err != nil || old.Status(noon) != "expired" {
		t.Errorf("not kept: %+v, %v", old, err)
	}
	if _, _, _, err = o.service().Rotate(t.Context(), jo, old.ID, keys.Rotation{}); !errors.Is(err, keys.ErrKeyExpired) {
		t.Errorf("an expired key: %v", err)
	}
	_, err = o.service().Revoke(t.Context(), jo, old.ID)
	assert.NoError(t, err)
	if _, _, _, err = o.service().Rotate(t.Context(), jo, old.ID, keys.Rotation{}); !errors.Is(err, keys.ErrKeyRevoked) {
		t.Errorf("a revoked key: %v", err)
	}
	if _, _, _, err = o.service().Rotate(t.Context(), jo, "key_0000000000000000", keys.Rotation{}); !errors.Is(err, keys.ErrKeyNotFound) {
		t.Errorf("an unknown key: %v", err)
	}
}

// TestRotateWithTheFullNumber: the old key counts as long as it works.
func TestRotateWithTheFullNumber(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	var key keys.Key
	for range keys.MaxActive {
		key, _ = o.issue(t, "acme")
	}
	all := o.everything(t)
	_, _, _, err := o.service().Rotate(t.Context(), jo, key.ID, keys.Rotation{GracePeriod: time.Hour})
	assert.ErrorIs(t, err, keys.ErrTooManyKeys, "an eleventh")
	assert.DeepEqual(t, o.everything(t), all, "a refused rotation left something behind")
	if _, _, _, err := o.service().Rotate(t.Context(), jo, key.ID, keys.Rotation{}); err != nil {
		t.Error(err)
	}
}

// TestRotateBannedKey: the key that takes the place of a banned one is banned as long, for the same reason.
func TestRotateBannedKey(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	key, _ := o.issue(t, "acme")
	long, err := o.Bans.Place(t.Context(), jo, people.NewBan{KeyID: key.ID, Length: 2 * time.Hour, Reason: "abuse"}, noon)
	assert.NoError(t, err)
	old, issued, _, err := o.service().Rotate(t.Context(), jo, key.ID, keys.Rotation{GracePeriod: time.Hour})
	assert.NoError(t, err)
	bans, err := store.Collect(o.Bans.List(t.Context(), people.BanFilter{KeyID: issued.ID, Limit: 9}, noon))
	if err != nil || len(bans) != 1 {
		t.Fatalf("the new key has %d bans, error %v", len(bans), err)
	}
	want := long
	want.ID, want.KeyID = bans[0].ID, issued.ID
	assert.DeepEqual(t, bans[0], want, "ban of the new key")
	if r := o.last(t); r.Action != "ban.place" || r.Subject != issued.ID || r.After["source"] != "staff" {
		t.Errorf("remembered %+v", r)
	}
	if bans, err := store.Collect(o.Bans.List(t.Context(), people.BanFilter{KeyID: old.ID, Limit: 9}, noon)); err != nil || len(bans) != 1 {
		t.Errorf("the old key has %d bans, error %v", len(bans), err)
	}

	// A ban that is over is not carried.
	_, err = o.Bans.Lift(t.Context(), jo, issued.ID, noon)
	assert.NoError(t, err)
	if _, issued, _, err = o.service().Rotate(t.Context(), jo, issued.ID, keys.Rotation{}); err != nil {
		t.Fatal(err)
	}
	if bans, err := store.Collect(o.Bans.List(t.Context(), people.BanFilter{KeyID: issued.ID, Past: true, Limit: 9}, noon)); err != nil || len(bans) != 0 {
		t.Errorf("a ban that was lifted is carried over: %+v, error %v", bans, err)
	}
}
