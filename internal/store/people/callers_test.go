package people_test

import (
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

// TestCallers: each digest of a query gets its own caller with what follows, and one of no key gets
// none.
func TestCallers(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	o.Tenant(t, "zoo", plans.Free)
	_, first := o.Issue(t, "acme")
	_, other := o.Issue(t, "zoo")
	_, second := o.Issue(t, "acme")
	_, _, err := fixture.AssignPlan(
		t.Context(),
		o.DB,
		fixture.Jo,
		"acme",
		plans.Business,
		nil,
		time.Now().Add(time.Hour),
	)
	assert.NoError(t, err)
	digests := []keys.Digest{{1}, first.Digest(), other.Digest(), {2}, second.Digest(), first.Digest(), {3}}
	found, err := o.API.Keys.Callers(t.Context(), digests, time.Now())
	assert.NoError(t, err)
	var got []string
	for i, c := range found {
		if c.Tenant == nil {
			got = append(got, "none")
			continue
		}
		sole, err := o.API.Keys.Caller(t.Context(), digests[i], time.Now())
		assert.Result(t, c, err, sole, "caller", i, "alone and among others -alone +among")
		text := c.Tenant.Name
		for p := c.Tenant; p != nil; p = p.Next {
			text += " " + p.Plan
		}
		got = append(got, text)
	}
	want := []string{"none", "acme pro business", "zoo free", "none", "acme pro business", "acme pro business", "none"}
	assert.DeepEqual(t, got, want, "callers")
}
