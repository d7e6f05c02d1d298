package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/people"
	"petstore.example/internal/test/assert"
)

func (o office) ban(t *testing.T, keyID string, length time.Duration, at time.Time) keys.Ban {
	t.Helper()
	ban, err := o.Bans.Place(t.Context(), jo, people.NewBan{KeyID: keyID, Length: length, Reason: "scraping"}, at)
	assert.NoError(t, err)
	return ban
}

func TestPlaceAndLiftBan(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	acme := o.tenant(t, "acme", plans.Pro)
	key, _ := o.issue(t, "acme")
	placed := o.ban(t, key.ID, time.Hour, noon)
	want := keys.Ban{
		ID: placed.ID, TenantID: acme.ID, TenantName: "acme", KeyID: key.ID, Source: keys.ByStaff, Reason: "scraping",
		StartsAt: noon, EndsAt: noon.Add(time.Hour),
	}
	assert.DeepEqual(t, placed, want, "placed")
	record := map[string]any{
		"key_id": key.ID, "source": "staff", "redacted": []any{"reason"},
		"starts_at": "2026-11-20T12:00:00Z", "ends_at": "2026-11-20T13:00:00Z",
	}
	entry := remembered{
		ClaimedActor: "jo@support-3", Action: "ban.place", Tenant: "acme", Subject: key.ID, Reason: "because", After: record,
	}
	assert.DeepEqual(t, o.last(t), entry, "remembered")

	// A shorter one takes its place: the earlier is lifted, and remembered as what was before.
	minute := noon.Add(time.Minute)
	shorter := o.ban(t, key.ID, time.Second, minute)
	delete(record, "redacted")
	if got := o.last(t); !cmp.Equal(record, got.Before) || got.After["redacted"] != nil {
		t.Errorf("before: %v", got.Before)
	}
	placed.LiftedAt = minute
	for at, want := range map[time.Time][]keys.Ban{minute: {shorter}, shorter.EndsAt: {}} {
		got, err := store.Collect(o.Bans.List(t.Context(), people.BanFilter{KeyID: key.ID}, at))
		assert.Result(t, got, err, want, "in force at", at)
	}
	if all, err := store.Collect(o.Bans.List(t.Context(), people.BanFilter{Past: true}, minute)); err != nil || !cmp.Equal([]keys.Ban{shorter, placed}, all) {
		t.Errorf("all: %+v, %v", all, err)
	}

	shorter.LiftedAt = minute
	lifted, err := o.Bans.Lift(t.Context(), jo, key.ID, minute)
	assert.Result(t, lifted, err, shorter, "lifted")
	if got := o.last(t); got.Action != "ban.lift" || got.After["lifted_at"] != "2026-11-20T12:01:00Z" {
		t.Errorf("remembered %+v", got)
	}
	_, err = o.Bans.Lift(t.Context(), jo, key.ID, minute)
	assert.ErrorIs(t, err, keys.ErrBanNotFound, "lift again")
}

func TestLiftBanEndsAllInForce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	acme := o.tenant(t, "acme", plans.Pro)
	key, _ := o.issue(t, "acme")
	// Two servers may each have banned the key.
	for _, minutes := range []int{15, 60, 30} {
		o.exec(t, `
			insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at)
			values ($1, $2, 'automatic', 'x', $3::timestamptz, $3::timestamptz + make_interval(mins => $4))`, acme.ID, key.ID, noon, minutes)
	}
	lifted, err := o.Bans.Lift(t.Context(), jo, key.ID, noon)
	if err != nil || !lifted.EndsAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("lifted %+v, %v", lifted, err)
	}
	left, err := store.Collect(o.Bans.List(t.Context(), people.BanFilter{Limit: 9}, noon))
	assert.Result(t, len(left), err, 0, "left in force")
}

func TestBansNotFound(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	key, _ := o.issue(t, "acme")
	_, err := o.service().Revoke(t.Context(), jo, key.ID)
	assert.NoError(t, err)
	place := func(id string) error {
		return errorOf(o.Bans.Place(t.Context(), jo, people.NewBan{KeyID: id, Length: time.Hour, Reason: "x"}, noon))
	}
	for name, test := range map[string]struct{ got, want error }{
		"place on no key":        {place("key_x"), keys.ErrKeyNotFound},
		"place on a revoked key": {place(key.ID), keys.ErrKeyRevoked},
		"lift from no key":       {errorOf(o.Bans.Lift(t.Context(), jo, "key_x", noon)), keys.ErrKeyNotFound},
		"lift none":              {errorOf(o.Bans.Lift(t.Context(), jo, key.ID, noon)), keys.ErrBanNotFound},
		"list of nobody":         {errorOf(store.Collect(o.Bans.List(t.Context(), people.BanFilter{Tenant: "x", Limit: 1}, noon))), plans.ErrTenantNotFound},
	} {
		assert.ErrorIs(t, test.got, test.want, name)
	}
}
