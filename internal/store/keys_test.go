package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

func (o office) service() *keys.Service {
	return &keys.Service{Store: o.Keys, Clock: func() time.Time { return noon }}
}

func issueRequest(tenant string) keys.Request {
	return keys.Request{Tenant: tenant, Environment: keys.Live}
}

func TestIssueFindRevoke(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	acme := o.tenant(t, "acme", plans.Pro)
	service := o.service()
	issued, token, err := service.Issue(t.Context(), jo, keys.Request{
		Tenant: "acme", Name: "ci", Environment: keys.Test, PerMinute: 50, ExpiresAt: noon.Add(time.Hour),
	})
	assert.NoError(t, err)
	want := keys.Key{
		ID: issued.ID, TenantID: acme.ID, TenantName: "acme", Name: "ci", Environment: keys.Test, Last4: token.Last4(),
		PerMinute: 50, Scope: keys.ScopeWrite, CreatedAt: noon, ExpiresAt: noon.Add(time.Hour),
	}
	assert.DeepEqual(t, issued, want, "issued")
	if found, err := service.Identify(t.Context(), token.Reveal()); err != nil || !cmp.Equal(want, found) {
		t.Errorf("identified %+v, %v", found, err)
	}
	record := map[string]any{
		"id": issued.ID, "redacted": []any{"name"}, "environment": "test", "last4": token.Last4(), "per_minute": 50.0,
		"created_at": "2026-11-20T12:00:00Z", "expires_at": "2026-11-20T13:00:00Z",
	}
	entry := remembered{
		ClaimedActor: "jo@support-3",
		Action:       "key.issue",
		Tenant:       "acme",
		Subject:      issued.ID,
		Reason:       "because",
		After:        record,
	}
	assert.DeepEqual(t, o.last(t), entry, "remembered")
	if strings.Contains(o.everything(t), token.Reveal()) {
		t.Error("the key itself is in the database")
	}

	if c, err := o.api.Keys.Caller(
		t.Context(),
		token.Digest(),
		noon,
	); err != nil || c.RevokedAt != 0 ||
		c.PerMinute != 50 {
		t.Errorf("before its revocation the caller is %+v, %v", c, err)
	}
	want.RevokedAt = noon
	if revoked, err := service.Revoke(t.Context(), jo, issued.ID); err != nil || !cmp.Equal(want, revoked) {
		t.Errorf("revoked %+v, %v", revoked, err)
	}
	if got := o.last(t); got.Action != "key.revoke" || got.Before["revoked_at"] != nil ||
		got.After["revoked_at"] == nil {
		t.Errorf("remembered %+v", got)
	}
	if c, err := o.api.Keys.Caller(t.Context(), token.Digest(), noon); err != nil || c.RevokedAt != noon.Unix() {
		t.Errorf("the caller was revoked at %d, %v", c.RevokedAt, err)
	}
	_, err = service.Revoke(t.Context(), jo, issued.ID)
	assert.ErrorIs(t, err, keys.ErrKeyRevoked, "revoke again")
	if found, err := service.Identify(t.Context(), token.Reveal()); err != nil || !cmp.Equal(want, found) {
		t.Errorf("a revoked key is %+v, %v", found, err)
	}
}

func TestAtMostTenActiveKeys(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	acme := o.tenant(t, "acme", plans.Pro)
	o.tenant(t, "zoo", plans.Pro)
	service := o.service()
	// One that expires and one that is revoked make room again.
	expiring, _, err := service.Issue(t.Context(), jo, keys.Request{
		Tenant: "acme", Environment: keys.Live, ExpiresAt: noon.Add(time.Minute),
	})
	assert.NoError(t, err)
	var last keys.Key
	for range keys.MaxActive - 1 {
		last, _ = o.issue(t, "acme")
	}
	if _, _, err := service.Issue(t.Context(), jo, issueRequest("acme")); !errors.Is(err, keys.ErrTooManyKeys) {
		t.Fatalf("the eleventh: %v", err)
	}
	_, _, err = service.Issue(t.Context(), jo, issueRequest("zoo"))
	assert.Equal(t, err, nil, "another tenant's first")
	_, err = service.Revoke(t.Context(), jo, last.ID)
	assert.NoError(t, err)
	_, _, err = service.Issue(t.Context(), jo, issueRequest("acme"))
	assert.Equal(t, err, nil, "after one was revoked")
	service.Clock = func() time.Time { return expiring.ExpiresAt }
	_, _, err = service.Issue(t.Context(), jo, issueRequest("acme"))
	assert.Equal(t, err, nil, "when one expires")
	n, err := o.Keys.CountActive(t.Context(), acme.ID, expiring.ExpiresAt)
	assert.Result(t, n, err, keys.MaxActive, "active")
}

func TestOfTwentyIssuedAtOnceTenAreMade(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	acme := o.tenant(t, "acme", plans.Pro)
	service := o.service()
	atOnce(t, 20, keys.MaxActive, keys.ErrTooManyKeys, func(int) error {
		_, _, err := service.Issue(t.Context(), jo, issueRequest("acme"))
		return err
	})
	n, err := o.Keys.CountActive(t.Context(), acme.ID, noon)
	assert.Result(t, n, err, keys.MaxActive, "active")
	if n := o.text(
		t,
		`select count(*) from audit_entries where action = 'key.issue'`,
	); n != fmt.Sprint(keys.MaxActive) {
		t.Errorf("%s issues remembered", n)
	}
}
