package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// TestWhyNamesATenant: a ticket names the customer, or a request. So a second after refusals, the
// name explains them, and the ID of the first.
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
	if len(got.Keys) != 2 || got.RefusedKeys != 2 || got.Keys[0].KeyID != tn.keys[0].id ||
		got.Keys[1].Verdict != "rate_limit_exceeded" {
		t.Errorf("%+v, want both keys of %s, the refused one first", got, tn.Name)
	}
	assert.Contains(
		t,
		d.ctl("why", first).stdout,
		"over the account's limit of 60 requests per minute on plan free",
		"why",
		first,
	)
}

// TestRequestsExplainThemselves: from its 429 a customer follows Link to the request and to the
// reason, which is what why tells staff. It works while the limit is used up. Another tenant finds
// nothing.
func TestRequestsExplainThemselves(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	s := d.serve()
	tn, stranger := d.freshTenant(plans.Free, nil, 2), d.freshTenant(plans.Free, nil, 1)
	refused := d.patient.get(s, tn.keys[0].token, "/pets")
	for range 2 * 60 {
		if refused.status == http.StatusTooManyRequests {
			break
		}
		refused = d.patient.get(s, tn.keys[0].token, "/pets")
	}
	_, link, _ := strings.Cut(refused.header.Get("Link"), ", <")
	list, ok := strings.CutSuffix(link, `>; rel="describedby"`)
	_, list, found := strings.Cut(list, "/v1")
	if !ok || !found || list != "/requests?code=rate_limit_exceeded" {
		t.Fatalf("%d, Link %s", refused.status, refused.header.Get("Link"))
	}
	id := refused.header.Get("X-Request-Id")
	wait.Until(t, "the request is listed", func() bool {
		a := d.patient.get(s, tn.keys[1].token, list)
		return a.status == http.StatusOK && strings.Contains(string(a.body), id)
	})
	var own struct {
		KeyID, Explanation string
		Window             struct {
			Name string
			Used []struct {
				ID       string
				Admitted int
			}
		}
		PassesAt time.Time
		Refusals struct {
			Refused int
			Plans   []struct{ Name string }
		}
	}
	var a response
	wait.Until(t, "usage is recorded", func() bool {
		a = d.patient.get(s, tn.keys[1].token, "/requests/"+id)
		assert.NoError(t, json.Unmarshal(a.body, &own), a)
		return len(own.Window.Used) == 1 && own.Window.Used[0].Admitted == 60 && own.Refusals.Refused > 0
	})
	if own.KeyID != tn.keys[0].id || own.Window.Name != "minute" || own.Window.Used[0].ID != tn.keys[0].id ||
		own.PassesAt.Unix() < refused.integer("X-RateLimit-Reset") || len(own.Refusals.Plans) != 2 {
		t.Errorf("%s", a.body)
	}
	var staffs struct{ Explanation string }
	assert.NoError(t, json.Unmarshal([]byte(d.ctl("why", id, "-o", "json").stdout), &staffs))
	text, _, _ := strings.Cut(staffs.Explanation, " Now")
	assert.Equal(t, own.Explanation, text)
	assert.Equal(t, string(d.patient.get(s, stranger.keys[0].token, list).body), "[]\n", "another tenant's list")
	assert.Equal(
		t,
		d.patient.get(s, stranger.keys[0].token, "/requests/"+id).status,
		http.StatusNotFound,
		"another tenant's request",
	)
}
