package e2e_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/webhooks"
)

// TestSecretsStaySecret uses most features and searches all output for keys and passwords.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	const postgresPassword, redisPassword = "Pa55word-of-postgres", "Pa55word-of-redis"
	database, err := url.Parse(storetest.New(t).URL)
	assert.NoError(t, err)
	database.User = url.UserPassword(database.User.Username(), postgresPassword) // this server accepts any password
	redisServer := redistest.New(t)
	d := newDeploymentOn(t, database.String(), withRedisPassword(t, redisServer, redisPassword))
	secretsKey := webhooks.NewKey()
	s := d.serve("PETSTORE_LOG_LEVEL=trace", "PETSTORE_SECRETS_KEY="+secretsKey)

	d.ctl("tenant", "create", "tenant-of-secrets", "--plan", "business")
	issued := issueWithCtl(d, "tenant-of-secrets")
	tn := d.freshTenant(plans.Free, nil, 2)
	secrets := []string{postgresPassword, redisPassword, issued.token}
	for _, k := range tn.keys {
		secrets = append(secrets, k.token)
	}
	var bodies strings.Builder
	ask := func(a response) {
		bodies.Write(a.body)
		for name, values := range a.header {
			fmt.Fprintln(&bodies, name, values)
		}
	}
	broken := issued.token[:len(issued.token)-1] + "!"
	for _, k := range []string{issued.token, broken, issued.token + "x", "Basic " + issued.token, "",
		tn.keys[0].token} {
		for _, path := range []string{"/pets", "/pets/1", "/nowhere/" + issued.token, "/pets?cursor=" + issued.token,
			"/pets?" + issued.token + "=1"} {
			ask(d.patient.get(s, k, path))
		}
		ask(d.patient.do(t.Context(), "POST", s.URL+"/pets", k, `{"name":7,"categoryId":"x"}`))
		ask(d.patient.do(t.Context(), "PUT", s.URL+"/pets", k, "{}"))
	}
	d.scope(tn.keys[1], keys.ScopeManage)
	for range 2 {
		a := d.patient.do(
			t.Context(),
			"POST",
			s.URL+"/keys",
			tn.keys[1].token,
			`{"name":"made"}`,
			"Idempotency-Key",
			"k",
		)
		var made struct{ Key string }
		if json.Unmarshal(a.body, &made) == nil && made.Key != "" {
			secrets = append(secrets, made.Key)
			ask(d.patient.get(s, made.Key, "/keys/self"))
		} else {
			ask(a)
		}
	}
	secrets = append(secrets, secretsKey, hexOf(t, secretsKey))
	endpoint := `{"url":"https://hooks.example.invalid/","events":["*"]}`
	for range 2 {
		a := d.patient.do(t.Context(), "POST", s.URL+"/webhooks", tn.keys[1].token, endpoint, "Idempotency-Key", "w")
		var made struct{ Secret string }
		if json.Unmarshal(a.body, &made) == nil && made.Secret != "" {
			secrets = append(secrets, made.Secret, hexOf(t, strings.TrimPrefix(made.Secret, "whsec_")))
		} else {
			ask(a)
		}
	}
	ask(d.patient.get(s, tn.keys[1].token, "/webhooks"))
	assert.Equal(t, len(secrets), 10, "secrets")
	for n, code := 0, ""; n < 20_000 && code != "key_banned"; n++ {
		a := d.patient.get(s, tn.keys[0].token, "/pets")
		code = a.code
		ask(a)
	}
	d.ctl("key", "revoke", issued.id, "--yes", "--reason", "test")
	var printed strings.Builder
	for _, args := range [][]string{
		{"key", "list"}, {"key", "show", issued.id}, {"tenant", "list"}, {"ban", "list", "--all"}, {"audit", "list"},
		{"usage", "show"}, {"key", "show", "key_0000000000000000"}, {"tenant", "show", "nobody"}, {"migrate", "status"},
		{"key", "list", "--database-url", strings.Replace(database.String(), "/test_", "/gone_", 1)},
	} {
		for _, format := range []string{"table", "json"} {
			c := d.tryCtl(append(args, "-o", format)...)
			printed.WriteString(c.stdout + c.stderr)
		}
	}
	redisServer.Stop()
	for range 3 {
		ask(d.patient.get(s, tn.keys[1].token, "/pets"))
	}
	_, metrics := s.Ask("/metrics")
	_, ready := s.Ask("/readyz")
	time.Sleep(600 * time.Millisecond) // until usage is written, or its errors are logged

	places := map[string]string{
		"answers":     withoutEchoes(bodies.String(), issued.token),
		"log":         s.Stderr(),
		"stdout":      s.Stdout(),
		"metrics":     string(metrics),
		"readyz":      string(ready),
		"petstorectl": printed.String(),
		"command lines": commandLines(
			t,
			s.PID(),
		),
		"audit":   tableText(d, "audit_entries"),
		"keys":    tableText(d, "api_keys"),
		"tenants": tableText(d, "tenants"),
		"bans":    tableText(d, "bans"),
		"usage":   tableText(d, "usage_hourly"),
		"idempotency keys": tableText(
			d,
			"idempotency_keys",
		),
		"failed requests": tableText(d, "failed_requests"),
		"webhooks":        tableText(d, "endpoints") + tableText(d, "endpoint_secrets"),
		"undo":            tableText(d, "undo_values"),
	}
	size, found := 0, 0
	for place, text := range places {
		size += len(text)
		if text == "" && place != "stdout" {
			t.Errorf("%s: nothing to look at", place)
		}
		for i, secret := range secrets {
			if at := strings.Index(text, secret); at >= 0 {
				found++
				t.Errorf(
					"secret %d stands in %s: …%s…",
					i,
					place,
					strings.ReplaceAll(text[max(0, at-200):at], secret, "SECRET"),
				)
			}
		}
	}
	t.Logf("%d secrets looked for in %d places, %d bytes: %d found", len(secrets), len(places), size, found)
}

// hexOf returns what is in base64 as Postgres shows bytes.
func hexOf(t testing.TB, text string) string {
	t.Helper()
	bytes, err := base64.StdEncoding.DecodeString(text)
	assert.NoError(t, err)
	return hex.EncodeToString(bytes)
}

// withoutEchoes removes what the client itself put into a URL, which a Link header may repeat.
func withoutEchoes(text, token string) string {
	return strings.ReplaceAll(text, token+"=1", "")
}

// issueWithCtl issues a key with petstorectl.
func issueWithCtl(d *deployment, tenant string, args ...string) key {
	d.t.Helper()
	var issued struct{ ID, Key string }
	issue := []string{"key", "issue", tenant, "--name", "first", "--environment", "live", "-o", "json"}
	c := d.ctl(append(issue, args...)...)
	if err := json.Unmarshal([]byte(c.stdout), &issued); err != nil || issued.Key == "" {
		d.t.Fatalf("key issue -o json: %v", err)
	}
	if strings.Contains(c.stderr, issued.Key) {
		d.t.Error("key issue prints the key to stderr, too")
	}
	return key{issued.ID, issued.Key}
}

func withRedisPassword(t testing.TB, s *redistest.Server, password string) string {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr, DisableIdentity: true})
	defer c.Close()
	assert.NoError(t, c.ConfigSet(t.Context(), "requirepass", password).Err())
	return strings.Replace(s.URL, "redis://", "redis://:"+password+"@", 1)
}

// tableText returns all of a table as text.
func tableText(d *deployment, name string) string {
	d.t.Helper()
	var text string
	d.scan(&text, `select coalesce(string_agg(r::text, E'\n'), '') from `+name+` r`)
	return text
}

// commandLines returns the command lines of all processes, which any user may read.
func commandLines(t testing.TB, pid int) string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	assert.NoError(t, err)
	var b strings.Builder
	for _, e := range entries {
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil {
			b.WriteString(strings.ReplaceAll(string(line), "\x00", " ") + "\n")
		}
	}
	own := programs.Read(t, fmt.Sprintf("/proc/%d/cmdline", pid))
	if !strings.Contains(b.String(), strings.ReplaceAll(own, "\x00", " ")) {
		t.Errorf("the server's command line %q was not read", own)
	}
	return b.String()
}
