package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/storetest"
	"petstore.example/internal/test/wait"
)

// TestWhyNamesATenant: a ticket names the customer. So a second after refusals, its name explains them.
func TestWhyNamesATenant(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	s := d.serve()
	tn := d.freshTenant(s, plans.Free, nil, 2)
	for range 60 + 20 {
		d.patient.get(s, tn.keys[0].token, "/pets")
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
		if err := json.Unmarshal([]byte(c.stdout), &got); err != nil {
			t.Fatal(err)
		}
		return got.Verdict == "rate_limit_exceeded"
	})
	// The limit is the tenant's, so both keys are refused. The one that was used comes first.
	if len(got.Keys) != 2 || got.RefusedKeys != 2 || got.Keys[0].KeyID != tn.keys[0].id || got.Keys[1].Verdict != "rate_limit_exceeded" {
		t.Errorf("%+v, want both keys of %s, the refused one first", got, tn.Name)
	}
}

// failure is a request that fails, and what why must know of it.
type failure struct {
	name                string
	method, path, body  string
	token               string
	headers             []string
	status              int
	code, reason        string
	keyID               string
	explanation, advice string
}

// TestWhyExplainsEveryFailure makes each kind of failure that can be made on a real server, and asks why with its request ID. (The clock of
// a server can't be set to 2030, when 410 begins: why.txtar and internal/api have it.)
func TestWhyExplainsEveryFailure(t *testing.T) {
	t.Parallel()
	postgres := storetest.NewServer(t)
	d := newDeploymentOn(t, postgres.URL, "")
	s := d.serve()
	failures := append(ownFailures(d, s), strangersFailures()...)
	for _, f := range failures {
		if got := f.send(d, s); got != f.status {
			t.Errorf("%s: %d, want %d", f.name, got, f.status)
		}
	}
	down := failure{
		name: "no-database", method: "POST", path: "/pets", body: `{"name":"Rex","categoryId":1}`, status: 503, code: "unavailable", reason: "database",
		explanation: "The server could not use the database", advice: "petstorectl doctor",
	}
	own := d.tenant(plans.Enterprise, hugeQuota, 1)
	down.token, down.keyID = own.keys[0].token, own.keys[0].id
	if a := d.patient.get(s, down.token, "/pets"); a.status != 200 {
		t.Fatalf("before Postgres is stopped: %v", a)
	}
	postgres.Stop()
	if got := down.send(d, s); got != 503 {
		t.Errorf("without Postgres: %d, want 503", got)
	}
	postgres.Start()
	for _, f := range append(failures, down) {
		f.checkWhy(d)
	}
}

// send sends the request once, with the name as its ID.
func (f failure) send(d *deployment, s *server) int {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), f.method, s.url+f.path, strings.NewReader(f.body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("X-Request-Id", f.name)
	if f.token != "" {
		req.Header.Set("Authorization", "Bearer "+f.token)
	}
	if f.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(f.headers); i += 2 {
		if f.headers[i] == "Content-Type" {
			req.Header.Del(f.headers[i])
		}
		req.Header.Add(f.headers[i], f.headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatalf("%s: %v", f.name, err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// checkWhy asks why, until the server has written the request.
func (f failure) checkWhy(d *deployment) {
	t := d.t
	t.Helper()
	var got struct {
		Status                    int
		Code, Reason, Explanation string
		KeyID                     string `json:"key_id"`
		Help                      []string
	}
	wait.Until(t, "why knows "+f.name, func() bool {
		c := d.tryCtl("why", f.name, "-o", "json")
		return c.code == 0 && json.Unmarshal([]byte(c.stdout), &got) == nil
	})
	// In the instant in which Postgres stops, a server looks a key up again, and does not learn whose it is.
	keyID := got.KeyID == f.keyID || f.reason == "database" && got.KeyID == ""
	if got.Status != f.status || got.Code != f.code || got.Reason != f.reason || !keyID {
		t.Errorf("%s: %+v, want %d %s %q of key %q", f.name, got, f.status, f.code, f.reason, f.keyID)
	}
	if !strings.Contains(got.Explanation, f.explanation) || !strings.Contains(strings.Join(got.Help, "\n"), f.advice) {
		t.Errorf("%s: %q, what to do: %q, want %q and %q", f.name, got.Explanation, got.Help, f.explanation, f.advice)
	}
}

// ownFailures are those of keys that exist.
func ownFailures(d *deployment, s *server) (list []failure) {
	d.t.Helper()
	add := func(k key, f failure) { f.token, f.keyID = k.token, k.id; list = append(list, f) }
	tn := d.tenant(plans.Enterprise, hugeQuota, 10)
	for _, k := range tn.keys { // From now on the server knows them.
		d.patient.get(s, k.token, "/pets?limit=1")
	}
	keyOf := func(i int) key { return tn.keys[i%len(tn.keys)] }
	post := func(body string, headers ...string) int {
		return failure{name: "made", method: "POST", path: "/pets", body: body, token: tn.keys[0].token, headers: headers}.send(d, s)
	}
	if post(`{"name":"Rex","categoryId":1,"status":"sold"}`, "Idempotency-Key", "used") != 201 {
		d.t.Fatal("no animal was made")
	}
	for i, f := range []failure{
		{name: "parameter", method: "GET", path: "/pets?limit=0", status: 400, code: "invalid_parameter", explanation: "A query parameter is out of range", advice: "Correct the parameter"},
		{name: "body", method: "POST", path: "/pets", body: `{"name":""}`, status: 400, code: "validation_failed", explanation: "invalid values", advice: "Correct the members"},
		{name: "no-animal", method: "GET", path: "/pets/404", status: 404, code: "pet_not_found", explanation: "No animal with this ID exists", advice: "Check the ID"},
		{name: "no-route", method: "GET", path: "/cats", status: 404, code: "route_not_found", explanation: "The path does not exist", advice: "Check the path"},
		{name: "no-method", method: "DELETE", path: "/pets", status: 405, code: "method_not_allowed", explanation: "does not support this method", advice: "Use a method from the Allow header"},
		{name: "conflict", method: "PATCH", path: "/pets/1", body: `{"status":"pending"}`, status: 409, code: "invalid_transition", explanation: "cannot change in this way", advice: "Read the current status"},
		{name: "too-large", method: "POST", path: "/pets", body: strings.Repeat(" ", 1<<20+1), status: 413, code: "body_too_large", explanation: "longer than 1 MiB", advice: "Send a shorter body"},
		{name: "media-type", method: "POST", path: "/pets", body: "name=Rex", headers: []string{"Content-Type", "text/plain"}, status: 415, code: "unsupported_media_type", explanation: "is not application/json", advice: "Send uncompressed JSON"},
		{name: "reused", method: "POST", path: "/pets", body: `{"name":"Tom","categoryId":1}`, headers: []string{"Idempotency-Key", "used"}, status: 422, code: "idempotency_key_reused", explanation: "used with another body", advice: "Use a new key for each new request"},
	} {
		add(keyOf(i), f)
	}
	poor := d.freshTenant(s, plans.Free, nil, 2)
	for range 60 {
		d.patient.get(s, poor.keys[1].token, "/pets")
	}
	add(poor.keys[0], failure{name: "minute", method: "GET", path: "/pets", status: 429, code: "rate_limit_exceeded", explanation: "over plan free's 60 requests per minute", advice: "petstorectl plan assign " + poor.Name})
	bad := d.tenant(plans.Pro, nil, 3)
	d.ctl("ban", "place", bad.keys[0].id, "--for", "1h", "--reason", "scraping")
	add(bad.keys[0], failure{name: "banned", method: "GET", path: "/pets", status: 429, code: "key_banned", explanation: "scraping", advice: "petstorectl ban lift " + bad.keys[0].id})
	d.revoke(bad.keys[1])
	add(bad.keys[1], failure{name: "revoked", method: "GET", path: "/pets", status: 401, code: "invalid_api_key", reason: "revoked", explanation: "The key was revoked", advice: "petstorectl key issue " + bad.Name})
	d.exec(`update api_keys set expires_at = now() - interval '1 minute' where id = $1`, bad.keys[2].id)
	add(bad.keys[2], failure{name: "expired", method: "GET", path: "/pets", status: 401, code: "invalid_api_key", reason: "expired", explanation: "The key had expired", advice: "petstorectl key issue " + bad.Name})
	out := d.tenant(plans.Pro, nil, 1)
	d.ctl("tenant", "suspend", out.Name, "--yes", "--reason", "test")
	add(out.keys[0], failure{name: "suspended", method: "GET", path: "/pets", status: 401, code: "invalid_api_key", reason: "tenant_suspended", explanation: "was suspended", advice: "petstorectl tenant resume " + out.Name})
	return list
}

// strangersFailures are those without a key that exists.
func strangersFailures() []failure {
	unknown, err := keys.NewToken(keys.Live)
	other, err2 := keys.NewToken(keys.Test)
	if err != nil || err2 != nil {
		panic("no random numbers")
	}
	wrong := []byte(unknown.Reveal())
	wrong[len(wrong)-1] ^= 1
	list := []failure{
		{name: "no-key", code: "missing_api_key", explanation: "There is no Authorization header", advice: "Authorization: Bearer"},
		{name: "basic", headers: []string{"Authorization", "Basic x"}, code: "missing_api_key", reason: "other_scheme", explanation: "another scheme", advice: "Bearer"},
		{name: "cut-off", token: unknown.Reveal()[:40], code: "invalid_api_key", reason: "malformed", explanation: "is not an API key", advice: "petstorectl key list"},
		{name: "checksum", token: string(wrong), code: "invalid_api_key", reason: "malformed", explanation: "its checksum", advice: "petstorectl key list"},
		{name: "unknown", token: unknown.Reveal(), code: "invalid_api_key", reason: "unknown_key", explanation: "never issued", advice: "petstorectl key list"},
		{name: "staging", token: other.Reveal(), code: "invalid_api_key", reason: "other_environment", explanation: "for the other deployment", advice: "base URL"},
		{name: "two-headers", token: unknown.Reveal(), headers: []string{"Authorization", "Bearer x"}, code: "invalid_api_key", reason: "several_headers", explanation: "several Authorization headers", advice: "send one"},
	}
	for i := range list {
		list[i].method, list[i].path, list[i].status = "GET", "/pets", 401
	}
	return append(list, failure{
		name: "long", method: "GET", path: "/pets?x=" + strings.Repeat("x", 9000), status: 414, code: "uri_too_long", explanation: "longer than 8 KiB", advice: "fewer or shorter parameters",
	})
}
