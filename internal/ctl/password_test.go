package ctl

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// TestMessagesDoNotDependOnThePassword: with another password the output is the same, letter for
// letter. So no message contains a password, and none lacks letters because a password has them.
func TestMessagesDoNotDependOnThePassword(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(storetest.New(t).URL)
	assert.NoError(t, err)
	existing := "postgres://" + server.User.Username() + ":%s@" + server.Host + "/none?" + strings.ReplaceAll(
		server.RawQuery,
		"%",
		"%%",
	)
	const (
		unreachable = "petstorectl: can't connect to the database set by --database-url: reach the database: " +
			"database unavailable: "
		unreadable = "petstorectl: can't use the database set by --database-url: the database URL can't be read: " +
			"want postgres://user:password@host:5432/name?sslmode=…"
		otherScheme = "petstorectl: can't use the database set by --database-url: the database URL is no postgres:// " +
			"URL: the scheme is mysql"
		noDatabase = unreachable + `pq: database "none" does not exist`
	)
	for name, c := range map[string]struct{ dsn, want string }{
		"nobody listens":     {"postgres://jo:%s@127.0.0.1:1/none?sslmode=disable", unreachable},
		"no such database":   {existing, noDatabase},
		"parameter":          {"postgres://jo@127.0.0.1:1/none?sslmode=disable&password=%s", unreachable},
		"key=value":          {"host=127.0.0.1 port=1 sslmode=disable user=jo password=%s", unreachable},
		"quoted":             {"host=127.0.0.1 port=1 sslmode=disable password = '%s' user=jo", unreachable},
		"without a user":     {"postgresql://:%s@127.0.0.1:1/none?sslmode=disable", unreachable},
		"port is no number":  {"postgres://jo:%s@127.0.0.1:port/none", unreadable},
		"bad escape":         {"postgres://jo:%s%%zz@127.0.0.1:1/none", unreadable},
		"no end of address":  {"postgres://jo:%s@[::1/none", unreadable},
		"without a host":     {"postgres://jo:%s", unreadable},
		"other scheme":       {"mysql://jo:%s@127.0.0.1/none", otherScheme},
		"only the password":  {"%s", unreadable},
		"words, not a value": {"host=127.0.0.1 password=a %s", unreadable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range [][]string{{"tenant", "list"}, {"doctor"}, {"migrate", "status"},
				{"migrate", "up"}} {
				run := func(password string) string {
					var out bytes.Buffer
					f := cmdutil.NewFactory(
						&cmdutil.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out, Width: 80},
					)
					defer f.Close()
					code := Run(t.Context(), f, append(command, "--database-url", fmt.Sprintf(c.dsn, password)))
					return fmt.Sprintf("%sexit %d", &out, code)
				}
				first := run("q")
				if want := c.want; command[0] == "tenant" && !strings.HasPrefix(first, want) {
					t.Errorf("%v: %q, want %q", command, first, want)
				}
				for _, other := range []string{"e", "a", "s3cret", "p%40ss%2Fword", "%65"} {
					assert.Equal(t, run(other), first, command, "with the password", other)
				}
			}
		})
	}
}
