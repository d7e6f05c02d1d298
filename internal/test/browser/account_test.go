package browser_test

import (
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// links is how many account.mjs needs.
const links = 11

// TestAccount runs account.mjs on an account that has something to show: a banned key, a month by a
// boost, and another plan from tomorrow on.
func TestAccount(t *testing.T) {
	t.Parallel()
	url, _, staff := serve(t)
	by, now := audit.By{Actor: "test"}, time.Now()
	k, token, err := (&keys.Service{Store: staff.Keys}).Issue(
		t.Context(),
		by,
		keys.Request{Tenant: "acme", Name: "dashboard", Environment: keys.Live, Scope: keys.ScopeManage},
	)
	assert.NoError(t, err)
	_, err = staff.Bans.Place(t.Context(), by, tenancy.NewBan{KeyID: k.ID, Length: time.Hour, Reason: "it floods"}, now)
	assert.NoError(t, err)
	_, err = staff.Timelines.Assign(
		t.Context(),
		by,
		pricing.NewAssignment{
			Tenant: "acme",
			Kind:   plans.Assigned,
			Plan:   plans.Business,
			From:   now.Add(24 * time.Hour),
		},
	)
	assert.NoError(t, err)
	_, err = staff.Timelines.Assign(t.Context(), by, pricing.NewAssignment{
		Tenant: "acme", Kind: plans.Boost, Until: func(from time.Time) time.Time { return from.Add(time.Hour) },
		Own: &plans.Quota{Month: plans.Month{Kind: plans.SomeMonth, Included: 20_000,
			Overage: plans.Overage{Kind: plans.OverageShare, Value: 20}}},
	})
	assert.NoError(t, err)
	failed := usage.FailedRequest{
		At:        now,
		RequestID: "r-1",
		TenantID:  k.TenantID,
		KeyID:     k.ID,
		Status:    404,
		Code:      "pet_not_found",
		Plan:      plans.Pro,
		Method:    "GET",
		Route:     "/v1/pets/{petId}",
		ServerID:  "s",
	}
	assert.NoError(t, staff.FailedRequests.WriteFailed(t.Context(), []usage.FailedRequest{failed}))
	args := []string{url}
	for range links {
		secret, digest := keys.NewSecret()
		_, err := staff.SignIns.Invite(t.Context(), by, "acme", keys.Live, digest)
		assert.NoError(t, err)
		args = append(args, url+"/account/invitation#"+secret)
	}
	run(t, "account.mjs", args, "PETSTORE_API_KEY="+token.Reveal())
}
