package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// TestWhyNamesATenant: a ticket names the customer, or a request. So a second after refusals, the name explains them, and the ID of the first.
func TestWhyNamesATenant(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	s := d.serve()
	tn := d.freshTenant(plans.Free, nil, 2)
	first := ""
	for range 60 + 20 {
		if a := d.patient.get(s, tn.keys[0].token, "/pets"); a.status == http.StatusTooManyRequests && first == "" {
			first = a.header.Get("X-Request-Id")
		}
	}
	var got struct {
		Verdict     string
		RefusedKeys int `json:"refused_keys"`
		Keys        []struct {
			KeyID   string `json:"key_id"`
			Verdict string
		}
	}
	wait.Until(t, "why knows the tenant's refusals", func() bool {
		c := d.tryCtl("why", tn.Name, "-o", "json")
		if c.code != 0 {
			t.Logf("exit %d: %s", c.code, c.stderr)
			return false
		}
		assert.NoError(t, json.Unmarshal([]byte(c.stdout), &got))
		return got.Verdict == "rate_limit_exceeded"
	})
	// The limit is the tenant's, so both keys are refused. The one that was used comes first.
	if len(got.Keys) != 2 || got.RefusedKeys != 2 || got.Keys[0].KeyID != tn.keys[0].id || got.Keys[1].Verdict != "rate_limit_exceeded" {
		t.Errorf("%+v, want both keys of %s, the refused one first", got, tn.Name)
	}
	assert.Contains(t, d.ctl("why", first).stdout, "over plan free's 60 requests per minute", "why", first)
}
