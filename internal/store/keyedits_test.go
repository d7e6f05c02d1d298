package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

func limitOf(n int64) keys.Edit { return keys.Edit{PerMinute: &n} }

func TestEditKey(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	key, token := o.issue(t, "acme")
	name := "nightly"
	before, after, err := o.service().Edit(t.Context(), jo, key.ID, keys.Edit{Name: &name, PerMinute: limitOf(50).PerMinute})
	want := key
	want.Name, want.PerMinute = name, 50
	if diff := cmp.Diff([]keys.Key{key, want}, []keys.Key{before, after}); diff != "" || err != nil {
		t.Fatalf("edit (-want +got):\n%s%v", diff, err)
	}
	if caller, err := o.api.Keys.Caller(t.Context(), token.Digest(), noon); err != nil || caller.PerMinute != 50 {
		t.Errorf("the caller's own limit is %d, %v", caller.PerMinute, err)
	}
	entry := o.last(t)
	if entry.Action != "key.edit" || entry.Subject != key.ID || entry.Before["per_minute"] != nil ||
		entry.After["per_minute"] != 50.0 || fmt.Sprint(entry.After["redacted"]) != "[name]" || entry.Reason != jo.Reason {
		t.Errorf("remembered %+v", entry)
	}

	all := o.everything(t)
	if before, after, err := o.service().Edit(t.Context(), jo, key.ID, limitOf(50)); err != nil || before != after {
		t.Errorf("the same again: %+v, %+v, %v", before, after, err)
	}
	if _, after, err := o.service().Edit(t.Context(), dry, key.ID, limitOf(7)); err != nil || after.PerMinute != 7 {
		t.Errorf("dry run: %+v, %v", after, err)
	}
	assert.DeepEqual(t, o.everything(t), all, "an edit that changes nothing left something behind")

	if _, after, err := o.service().Edit(t.Context(), jo, key.ID, limitOf(0)); err != nil || after.PerMinute != 0 || after.Name != name {
		t.Errorf("without its own limit: %+v, %v", after, err)
	}
	if caller, err := o.api.Keys.Caller(t.Context(), token.Digest(), noon); err != nil || caller.PerMinute != 0 {
		t.Errorf("the caller's own limit is %d, %v", caller.PerMinute, err)
	}
}

func TestEditKeyRefuses(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	key, _ := o.issue(t, "acme")
	revoked, token := o.issue(t, "acme")
	_, err := o.service().Revoke(t.Context(), jo, revoked.ID)
	assert.NoError(t, err)
	secret := token.Reveal()
	for name, test := range map[string]struct {
		id   string
		edit keys.Edit
		want error
	}{
		"less than nothing": {key.ID, limitOf(-1), keys.ErrPerMinute},
		"a key as its name": {key.ID, keys.Edit{Name: &secret}, keys.ErrTextContainsKey},
		"revoked":           {revoked.ID, limitOf(1), keys.ErrKeyRevoked},
		"unknown":           {"key_0000000000000000", limitOf(1), keys.ErrKeyNotFound},
	} {
		_, _, err := o.service().Edit(t.Context(), jo, test.id, test.edit)
		assert.ErrorIs(t, err, test.want, name)
	}
	_, _, err = o.Keys.Edit(t.Context(), jo, key.ID, keys.Edit{Name: &secret}, noon)
	assert.ErrorIs(t, err, keys.ErrTextContainsKey, "the store itself")
}

func TestEditExpiry(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	key, token := o.issue(t, "acme")
	for _, step := range []struct {
		name    string
		expires time.Time
		now     time.Time
		want    error
	}{
		{"an hour from now", noon.Add(time.Hour), noon, nil},
		{"this instant", noon, noon, keys.ErrExpiryPast},
		{"later", noon.Add(2 * time.Hour), noon.Add(time.Hour - 1), nil},
		{"once it has expired", noon.Add(3 * time.Hour), noon.Add(2 * time.Hour), keys.ErrKeyExpired},
		{"never, once it has expired", time.Time{}, noon.Add(2 * time.Hour), keys.ErrKeyExpired},
		{"never", time.Time{}, noon, nil},
	} {
		before, err := o.Keys.Get(t.Context(), key.ID)
		assert.NoError(t, err)
		want := step.expires
		if step.want != nil {
			want = before.ExpiresAt
		}
		_, _, err = o.Keys.Edit(t.Context(), jo, key.ID, keys.Edit{ExpiresAt: &step.expires}, step.now)
		assert.ErrorIs(t, err, step.want, step.name)
		if c, err := o.api.Keys.Caller(t.Context(), token.Digest(), noon); err != nil || !c.ExpiresAt.Equal(want) {
			t.Errorf("%s: it expires at %v, %v, want %v", step.name, c.ExpiresAt, err, want)
		}
	}
}
