package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// TestCallers: each digest of a query gets its own caller with what follows, and one of no key gets none.
func TestCallers(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	o.tenant(t, "zoo", plans.Free)
	_, first := o.issue(t, "acme")
	_, other := o.issue(t, "zoo")
	_, second := o.issue(t, "acme")
	if _, _, err := o.Tenants.AssignPlan(t.Context(), jo, "acme", plans.Business, nil, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	digests := []keys.Digest{{1}, first.Digest(), other.Digest(), {2}, second.Digest(), first.Digest(), {3}}
	found, err := o.api.Keys.Callers(t.Context(), digests, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, c := range found {
		if c.Tenant == nil {
			got = append(got, "none")
			continue
		}
		sole, err := o.api.Keys.Caller(t.Context(), digests[i], time.Now())
		if diff := cmp.Diff(sole, c); diff != "" || err != nil {
			t.Errorf("caller %d alone and among others (-alone +among):\n%s%v", i, diff, err)
		}
		text := c.Tenant.Name
		for p := c.Tenant; p != nil; p = p.Next {
			text += " " + p.Plan
		}
		got = append(got, text)
	}
	want := []string{"none", "acme pro business", "zoo free", "none", "acme pro business", "acme pro business", "none"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("callers (-want +got):\n%s", diff)
	}
}
