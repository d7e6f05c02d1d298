//go:build linux

package running_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/pgtest"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/webhooks"
)

// operator follows docs/running.md on a cluster that has nothing yet. Only names of hosts, ports
// and passwords are others.
type operator struct {
	*testing.T
	page     string
	postgres *pgtest.Server
	home     string
}

// newOperator follows docs/running.md from an empty Postgres to one that is migrated.
func newOperator(t *testing.T) *operator {
	t.Helper()
	postgres, err := pgtest.Start(t.Context(), true, nil)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = postgres.Stop(context.Background()) })
	o := &operator{T: t, page: programs.Read(t, "../../../docs/running.md"), postgres: postgres, home: t.TempDir()}
	o.sql("postgres", "create role petstore_api nologin")
	// as petstore-migrate.service does
	o.command("PETSTORE_DATABASE_URL_FILE="+o.file("petstore_owner"), "petstorectl migrate up")
	o.sql("petstore", "grant connect on database petstore to petstore_backup")
	return o
}

// TestPage follows docs/running.md from an empty Postgres to a request through TLS.
func TestPage(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	settings := append(
		strings.Fields(o.block("PETSTORE_BASE_URL=")),
		"PETSTORE_DATABASE_URL_FILE="+o.file("api_server"),
	)
	redisURL := newRedis(t)
	f := newPair(t, programs.Path(t, "petstore"), "", redisURL, settings...)
	o.check(f.servers[0], redisURL)
	p := nginx.start(t, f)
	c := customer{t, p.client(t, "127.0.0.1"), o.firstKey()}
	res := c.sendOnce("GET /pets", "")
	if got := res.Header.Get("X-Ratelimit-Limit"); res.Proto != "HTTP/2.0" || res.StatusCode != http.StatusOK ||
		!strings.Contains(o.page, "x-ratelimit-limit: "+got+"\n") {
		t.Errorf("%s %s %v %s", res.Proto, res.Status, res.Header, res.body)
	}
}

// firstKey makes the first customer as the page says, and returns its key.
func (o *operator) firstKey() string {
	o.Helper()
	// The host of the page is production; the socket of this test is not.
	out := o.command("PETSTORE_PROFILE=production", o.block("petstorectl tenant create acme"))
	return regexp.MustCompile(`pst_live_\w+`).FindString(out)
}

// check tries the settings of the page beside a server, as the page says.
func (o *operator) check(beside *programs.Server, redisURL string) {
	o.Helper()
	etc := filepath.Dir(o.file("database_url"))
	for name, text := range map[string]string{
		"petstore.env": o.block("PETSTORE_BASE_URL=") + "PETSTORE_REDIS_TIMEOUT=5s\nPETSTORE_ADDR=" + beside.Addr +
			"\nPETSTORE_ADMIN_ADDR=" + beside.Admin + "\n",
		"redis_url": redisURL, "database_url": programs.Read(o, filepath.Join(etc, "api_server")),
		"secrets_key": webhooks.NewKey(),
	} {
		if err := os.WriteFile(filepath.Join(etc, name), []byte(text), 0o600); err != nil {
			o.Fatal(err)
		}
	}
	out := o.command("LANG=C", strings.ReplaceAll(o.block("serve --check"), "/etc/petstore", etc))
	if strings.Count(out, "ok  ") != 9 || strings.Count(out, "in use by a server of petstore") != 2 {
		o.Errorf("serve --check:\n%s", out)
	}
}

// block returns the block of code that contains the text.
func (o *operator) block(text string) string {
	o.Helper()
	for _, block := range regexp.MustCompile("(?s)\n```(?:sql|sh|ini|text)\n(.*?)```").FindAllStringSubmatch(o.page,
		-1) {
		if strings.Contains(block[1], text) {
			return block[1]
		}
	}
	o.Fatalf("docs/running.md has no block with %q", text)
	return ""
}

// sql runs the block that contains the text in a database, as an administrator.
func (o *operator) sql(database, text string) {
	o.Helper()
	o.statement(database, o.block(text))
}

// statement runs SQL in a database, as an administrator.
func (o *operator) statement(database, sql string) {
	o.Helper()
	bin := filepath.Dir(o.executable())
	cmd := sandbox.Command(
		o,
		filepath.Join(bin, "psql"),
		"--no-psqlrc",
		"--set=ON_ERROR_STOP=1",
		o.postgres.URL("postgres", database),
	)
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(sql, "…", "Pa55word"))
	if out, err := cmd.CombinedOutput(); err != nil {
		o.Fatalf("%s: %v\n%s", sql, err, out)
	}
}

// executable returns the path of the server's program: PostgreSQL's other ones are beside it.
func (o *operator) executable() string {
	o.Helper()
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", o.postgres.PID()))
	if err != nil {
		o.Fatal(err)
	}
	return path
}

// file writes the URL of a login as the page says, and returns the file's name.
func (o *operator) file(login string) string {
	o.Helper()
	name := filepath.Join(o.home, login)
	url := regexp.MustCompile(`(?m)^postgres://api_server:.*$`).FindString(o.page)
	url = strings.Replace(url, "postgres://api_server:…@", "postgres://"+login+":Pa55word@", 1)
	if err := os.WriteFile(name, []byte(o.here(url)+"\n"), 0o600); err != nil {
		o.Fatal(err)
	}
	return name
}

// here replaces the documented host by the cluster.
func (o *operator) here(text string) string {
	_, query, _ := strings.Cut(o.postgres.URL("postgres", "petstore"), "?")
	return regexp.MustCompile(
		`@db/petstore\?sslmode=verify-full(&sslrootcert=\S+)?`,
	).ReplaceAllString(
		text,
		"@/petstore?"+strings.ReplaceAll(query, "$", "$$"),
	)
}

// command runs shell commands with a variable of the environment, and returns what they print.
func (o *operator) command(variable, commands string) string {
	o.Helper()
	cmd := sandbox.Command(o, "sh", "-ec", o.here(commands))
	cmd.Env = append(
		cmd.Env,
		"PATH="+filepath.Dir(programs.Path(o, "petstorectl"))+":"+os.Getenv("PATH"),
		"HOME="+o.home,
		variable,
	)
	out, err := cmd.CombinedOutput()
	if err != nil {
		o.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return string(out)
}
