package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// TestCustomersManageKeys goes a customer's whole way on three servers: a key of one's own,
// narrowed, rotated without a lost request, and revoked by whoever finds it. Staff read it in the
// audit trail, and take the last step back.
func TestCustomersManageKeys(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, true)
	servers := d.serveAll(3)
	tn := d.tenant(plans.Business, nil, 1)
	boss := tn.keys[0]
	d.scope(boss, keys.ScopeManage)
	ask := func(i int, token, method, path, body string, headers ...string) response {
		return d.patient.do(t.Context(), method, servers[i].URL+path, token, body, headers...)
	}
	made := func(a response) key {
		var k struct{ ID, Key string }
		if err := json.Unmarshal(a.body, &k); err != nil || a.status != 201 {
			t.Fatalf("no key: %v", a)
		}
		return key{k.ID, k.Key}
	}
	everywhere := func(what string, holds func(server int) bool) {
		t.Helper()
		for i := range servers {
			wait.Until(t, fmt.Sprint(what, " on server ", i+1), func() bool { return holds(i) })
		}
	}

	first := made(ask(0, boss.token, "POST", "/keys", `{"name":"ci"}`, "Idempotency-Key", "k"))
	again := ask(1, boss.token, "POST", "/keys", `{"name":"ci"}`, "Idempotency-Key", "k")
	assert.True(t, again.code == "key_already_issued" && strings.Contains(string(again.body), first.id), "again", again)
	for i := range servers {
		assert.Equal(
			t,
			ask(i, first.token, "POST", "/pets", `{"name":"Rex","categoryId":1}`).status,
			201,
			"a new key on server",
			i+1,
		)
	}
	tag := ask(1, boss.token, "GET", "/keys/"+first.id, "").header.Get("ETag")
	assert.Equal(
		t,
		ask(2, boss.token, "PATCH", "/keys/"+first.id, `{"scope":"read"}`, "If-Match", tag).status,
		200,
		"narrowed",
	)
	assert.Equal(
		t,
		ask(0, boss.token, "PATCH", "/keys/"+first.id, `{"name":"x"}`, "If-Match", tag).status,
		412,
		"by an old version",
	)
	everywhere(
		"narrowed",
		func(i int) bool { return ask(i, first.token, "POST", "/pets", "{}").code == "insufficient_scope" },
	)

	second := made(ask(1, boss.token, "POST", "/keys/"+first.id+"/rotate", `{"gracePeriod":600}`))
	for _, k := range []key{first, second} {
		everywhere("rotated", func(i int) bool {
			a := ask(i, k.token, "GET", "/pets?limit=1", "")
			return a.status == 200 && (a.header.Get("X-Key-Expires") != "") == (k == first)
		})
	}
	assert.Equal(t, ask(0, second.token, "GET", "/keys/"+first.id, "").code, "insufficient_scope")
	assert.Equal(
		t,
		ask(0, second.token, "POST", "/keys/self/revoke", `{"reason":"found in a repository"}`).status,
		200,
		"revoked by itself",
	)
	everywhere("revoked", func(i int) bool { return ask(i, second.token, "GET", "/pets?limit=1", "").status == 401 })
	assert.Equal(t, ask(2, boss.token, "POST", "/keys/"+boss.id+"/revoke", "").code, "last_manage_key")

	third := made(ask(0, boss.token, "POST", "/keys", `{"name":"rotates itself"}`))
	lost := made(ask(0, third.token, "POST", "/keys/self/rotate", ""))
	kept := made(ask(1, third.token, "POST", "/keys/self/rotate", ""))
	everywhere("lost", func(i int) bool { return ask(i, lost.token, "GET", "/pets?limit=1", "").status == 401 })
	assert.Equal(t, ask(2, kept.token, "GET", "/pets?limit=1", "").status, 200, "the first use of the other")
	again = ask(0, third.token, "POST", "/keys/self/rotate", "")
	assert.True(t, again.code == "key_already_rotated" && strings.Contains(string(again.body), kept.id), "again", again)

	page := strings.TrimSuffix(servers[2].URL, "/v1") + "/account"
	jar, err := cookiejar.New(nil)
	assert.NoError(t, err)
	browser := &http.Client{Jar: jar}
	post := func(path string, form url.Values) int {
		r, err := browser.PostForm(page+path, form)
		assert.NoError(t, err)
		assert.NoError(t, r.Body.Close())
		return r.StatusCode
	}
	assert.Equal(t, post("/sign-in", url.Values{"key": {boss.token}}), 200, "signed in")
	form := url.Values{"id": {boss.id}, "scope": {"manage"},
		"version": {strings.Trim(ask(2, boss.token, "GET", "/keys/self", "").header.Get("ETag"), `"`)}}
	code := ""
	for try := 0; try < 2 && code != "rate_limit_exceeded"; try++ { // A minute may end before the last request.
		sendAtOnce(2, func(int) response { // in all places, so that the minute does not end on the way
			for range keys.MaxChanges / 2 {
				post("/keys/edit", form)
			}
			return response{}
		})
		code = ask(2, boss.token, "PATCH", "/keys/"+first.id, `{"name":"x"}`).code
	}
	assert.Equal(t, code, "rate_limit_exceeded", "after as many changes on the page")

	trail := d.ctl("audit", "list", "--subject", second.id, "-o", "json").stdout
	assert.True(
		t,
		strings.Contains(trail, `"key:`+second.id+`"`) && strings.Contains(trail, `"key:`+boss.id+`"`),
		"audit",
		trail,
	)
	var entries []struct{ Number int64 }
	assert.NoError(t, json.Unmarshal([]byte(trail), &entries))
	d.ctl("undo", fmt.Sprint(entries[0].Number), "--yes")
	everywhere(
		"brought back",
		func(i int) bool { return ask(i, second.token, "GET", "/pets?limit=1", "").status == 200 },
	)
}
