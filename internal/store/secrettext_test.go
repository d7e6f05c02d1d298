package store_test

import (
	"errors"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

// Whoever writes to the store, a key in a text that it keeps is refused and nothing changes; texts that were kept
// before stand in the way of nothing.
func TestTextsWithKeysAreRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Free)
	key, token := o.issue(t, "acme")
	banned, _ := o.issue(t, "acme")
	if _, err := o.Bans.Place(t.Context(), jo, store.NewBan{KeyID: banned.ID, Length: time.Hour, Reason: "x"}, noon); err != nil {
		t.Fatal(err)
	}
	secret := "see " + token.Reveal()
	loose := audit.By{Actor: "jo", Reason: secret}
	before := o.everything(t)
	for name, change := range map[string]func() error{
		"tenant.create": func() error {
			_, err := o.Tenants.Create(t.Context(), loose, store.NewTenant{Name: "zoo", Plan: plans.Free}, noon)
			return err
		},
		"tenant.suspend": func() error { _, err := o.Tenants.Suspend(t.Context(), loose, "acme", noon); return err },
		"plan.assign": func() error {
			_, _, err := o.Tenants.AssignPlan(t.Context(), loose, "acme", plans.Pro, nil, noon)
			return err
		},
		"key.issue": func() error {
			_, _, err := o.service().Issue(t.Context(), loose, issueRequest("acme"))
			return err
		},
		"key.issue, name": func() error {
			k := keys.Key{ID: "key_0000000000000001", TenantName: "acme", Name: secret, Environment: keys.Live, Last4: "0001", CreatedAt: noon}
			_, err := o.Keys.Create(t.Context(), jo, k, keys.Digest{1})
			return err
		},
		"key.revoke":        func() error { _, err := o.Keys.Revoke(t.Context(), loose, key.ID, noon); return err },
		"key.revoke, actor": func() error { _, err := o.Keys.Revoke(t.Context(), audit.By{Actor: secret}, key.ID, noon); return err },
		"ban.place": func() error {
			_, err := o.Bans.Place(t.Context(), jo, store.NewBan{KeyID: key.ID, Length: time.Hour, Reason: secret}, noon)
			return err
		},
		"ban.lift": func() error { _, err := o.Bans.Lift(t.Context(), loose, banned.ID, noon); return err },
	} {
		if err := change(); !errors.Is(err, keys.ErrTextContainsKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if o.everything(t) != before {
		t.Error("a refused change left something")
	}

	o.raw.MustExec(`update api_keys set name = $1`, secret)
	o.raw.MustExec(`update bans set reason = $1`, secret)
	if _, err := o.Bans.Lift(t.Context(), jo, banned.ID, noon); err != nil {
		t.Errorf("lift a ban whose reason holds a key: %v", err)
	}
	if _, err := o.Keys.Revoke(t.Context(), jo, key.ID, noon); err != nil {
		t.Errorf("revoke a key whose name holds a key: %v", err)
	}
}
