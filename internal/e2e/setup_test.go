package e2e_test

import (
	"database/sql"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/storetest"
)

// TestDocumentedSetup follows docs/configuration.md: an owner without special rights migrates an empty database, and the server uses the
// recommended login. The test then uses every feature that accesses the database.
func TestDocumentedSetup(t *testing.T) {
	t.Parallel()
	const password = "Pa55word"
	page := read(t, "../../docs/configuration.md")
	statement := func(pattern string) string {
		found := regexp.MustCompile(pattern).FindString(page)
		if found == "" {
			t.Fatalf("docs/configuration.md has no %q", pattern)
		}
		return strings.NewReplacer("to owner", "to petstore_owner", "api_server", "documented_server", "…", password).Replace(found)
	}
	database := storetest.New(t)
	admin, err := sql.Open("postgres", database.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	for _, query := range []string{
		"create role petstore_owner login", "create database petstore owner petstore_owner",
		statement("grant petstore_api to owner"), statement("create role api_server login .*? in role petstore_api"),
	} {
		if _, err := admin.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	login := func(user *url.Userinfo) string {
		u, err := url.Parse(database.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.User, u.Path = user, "/petstore"
		return u.String()
	}
	owner := login(url.User("petstore_owner"))
	if c := runCtl(&deployment{t: t}, "", []string{"PETSTORE_DATABASE_URL=" + owner}, "migrate", "up"); c.code != 0 {
		t.Fatalf("migrate up: exit %d: %s", c.code, c.stderr)
	}
	d := newDeploymentOn(t, owner, "")
	d.serverURL = login(url.UserPassword("documented_server", password))
	checkWorkingServer(d, d.serve())
}

// checkWorkingServer checks that the server has all permissions that it needs in the database.
func checkWorkingServer(d *deployment, s *server) {
	t := d.t
	n := addPopulated(d, s, 1) // animals, an order, and idempotency keys
	token := n.keys[0].token
	for _, path := range []string{"/pets/1", "/pets?status=sold", "/store/orders", "/usage"} {
		if a := d.client.get(s, token, path); a.status != 200 {
			t.Errorf("GET %s: %v", path, a)
		}
	}
	for path, body := range map[string]string{"/pets/2": `{"status":"pending"}`, "/store/orders/1": `{"status":"approved"}`} {
		if a := d.client.do(t.Context(), "PATCH", s.url+path, token, body); a.status != 200 {
			t.Errorf("PATCH %s: %v", path, a)
		}
	}
	exhaust(d, []*server{s}, d.freshTenant(s, plans.Free, nil, 1), 60)
	for what, query := range map[string]string{
		"usage":         `select count(*) from usage_hourly`,
		"last used":     `select count(*) from api_keys where last_used_at is not null`,
		"refusals":      `select count(*) from refusals`,
		"automatic ban": `select count(*) from bans`,
		"a term":        `select count(*) from cluster_term where active`,
		"renewals":      `select count(*) from servers where seen_at > now() - interval '2 s'`,
	} {
		eventually(t, 10*time.Second, what+" in the database", func() bool { return d.number(query) > 0 })
	}
	d.ctl("tenant", "suspend", n.Name, "--yes", "--reason", "test")
	eventually(t, time.Second, "the change takes effect", func() bool { return d.client.get(s, token, "/pets").status == 401 })
	if ready := s.ready(); ready.Status != "ready" {
		t.Errorf("readiness %+v", ready)
	}
}
