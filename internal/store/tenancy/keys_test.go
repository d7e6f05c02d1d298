package tenancy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

func TestIssueFindRevoke(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	acme := o.Tenant(t, "acme", plans.Pro)
	service := o.Service()
	issued, token, err := service.Issue(t.Context(), fixture.Jo, keys.Request{
		Tenant: "acme", Name: "ci", Environment: keys.Test, PerMinute: 50, ExpiresAt: fixture.Noon.Add(time.Hour),
	})
	assert.NoError(t, err)
	want := keys.Key{
		ID: issued.ID, TenantID: acme.ID, TenantName: "acme", Name: "ci", Environment: keys.Test, Last4: token.Last4(),
		PerMinute: 50, Scope: keys.ScopeWrite, CreatedAt: fixture.Noon, ExpiresAt: fixture.Noon.Add(time.Hour),
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
	assert.DeepEqual(t, lastEntry(t, o), entry, "remembered")
	if strings.Contains(o.Everything(t), token.Reveal()) {
		t.Error("the key itself is in the database")
	}

	if c, err := o.API.Keys.Caller(
		t.Context(),
		token.Digest(),
		fixture.Noon,
	); err != nil || c.RevokedAt != 0 ||
		c.PerMinute != 50 {
		t.Errorf("before its revocation the caller is %+v, %v", c, err)
	}
	want.RevokedAt = fixture.Noon
	if revoked, err := service.Revoke(t.Context(), fixture.Jo, issued.ID); err != nil || !cmp.Equal(want, revoked) {
		t.Errorf("revoked %+v, %v", revoked, err)
	}
	if got := lastEntry(t, o); got.Action != "key.revoke" || got.Before["revoked_at"] != nil ||
		got.After["revoked_at"] == nil {
		t.Errorf("remembered %+v", got)
	}
	if c, err := o.API.Keys.Caller(
		t.Context(),
		token.Digest(),
		fixture.Noon,
	); err != nil ||
		c.RevokedAt != fixture.Noon.Unix() {
		t.Errorf("the caller was revoked at %d, %v", c.RevokedAt, err)
	}
	_, err = service.Revoke(t.Context(), fixture.Jo, issued.ID)
	assert.ErrorIs(t, err, keys.ErrKeyRevoked, "revoke again")
	if found, err := service.Identify(t.Context(), token.Reveal()); err != nil || !cmp.Equal(want, found) {
		t.Errorf("a revoked key is %+v, %v", found, err)
	}
}

func TestAtMostTenActiveKeys(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	acme := o.Tenant(t, "acme", plans.Pro)
	o.Tenant(t, "zoo", plans.Pro)
	service := o.Service()
	// One that expires and one that is revoked make room again.
	expiring, _, err := service.Issue(t.Context(), fixture.Jo, keys.Request{
		Tenant: "acme", Environment: keys.Live, ExpiresAt: fixture.Noon.Add(time.Minute),
	})
	assert.NoError(t, err)
	var last keys.Key
	for range keys.MaxActive - 1 {
		last, _ = o.Issue(t, "acme")
	}
	if _, _, err := service.Issue(
		t.Context(),
		fixture.Jo,
		fixture.IssueRequest("acme"),
	); !errors.Is(
		err,
		keys.ErrTooManyKeys,
	) {
		t.Fatalf("the eleventh: %v", err)
	}
	_, _, err = service.Issue(t.Context(), fixture.Jo, fixture.IssueRequest("zoo"))
	assert.Equal(t, err, nil, "another tenant's first")
	_, err = service.Revoke(t.Context(), fixture.Jo, last.ID)
	assert.NoError(t, err)
	_, _, err = service.Issue(t.Context(), fixture.Jo, fixture.IssueRequest("acme"))
	assert.Equal(t, err, nil, "after one was revoked")
	service.Clock = func() time.Time { return expiring.ExpiresAt }
	_, _, err = service.Issue(t.Context(), fixture.Jo, fixture.IssueRequest("acme"))
	assert.Equal(t, err, nil, "when one expires")
	n, err := o.Keys.CountActive(t.Context(), acme.ID, expiring.ExpiresAt)
	assert.Result(t, n, err, keys.MaxActive, "active")
}

func TestOfTwentyIssuedAtOnceTenAreMade(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	acme := o.Tenant(t, "acme", plans.Pro)
	service := o.Service()
	fixture.AtOnce(t, 20, keys.MaxActive, keys.ErrTooManyKeys, func(int) error {
		_, _, err := service.Issue(t.Context(), fixture.Jo, fixture.IssueRequest("acme"))
		return err
	})
	n, err := o.Keys.CountActive(t.Context(), acme.ID, fixture.Noon)
	assert.Result(t, n, err, keys.MaxActive, "active")
	if n := o.Text(
		t,
		`select count(*) from audit_entries where action = 'key.issue'`,
	); n != fmt.Sprint(keys.MaxActive) {
		t.Errorf("%s issues remembered", n)
	}
}

// remembered is the last audit entry, its records decoded.
type remembered struct {
	ClaimedActor, Action, Tenant, Subject, Reason string
	Before, After                                 map[string]any
}

func lastEntry(t *testing.T, o fixture.Office) remembered {
	t.Helper()
	entries, err := store.Collect(o.Audit.List(t.Context(), trail.Filter{Limit: 1}))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d audit entries, error %v", len(entries), err)
	}
	e := entries[0]
	r := remembered{
		ClaimedActor: e.ClaimedActor,
		Action:       e.Action,
		Tenant:       e.TenantName,
		Subject:      e.Subject,
		Reason:       e.Reason,
	}
	for text, record := range map[*json.RawMessage]*map[string]any{&e.Before: &r.Before, &e.After: &r.After} {
		if len(*text) == 0 {
			continue
		}
		assert.NoError(t, json.Unmarshal(*text, record))
	}
	return r
}
