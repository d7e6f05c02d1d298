//go:build linux

package packages_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	_ "github.com/lib/pq"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// TestServerFromPackage follows docs/running.md from the installation to the first request, over an
// upgrade, to the removal.
func TestServerFromPackage(t *testing.T) {
	t.Parallel()
	machines := map[string]func(t *testing.T) machine{"deb in an empty root": emptyRoot}
	if whole() {
		for _, suite := range []string{"bookworm", "trixie"} {
			machines["deb in "+suite] = func(t *testing.T) machine { return debian(t, suite, "deb") }
		}
		machines["rpm in bookworm"] = func(t *testing.T) machine { return debian(t, "bookworm", "rpm") }
	}
	for name, start := range machines {
		t.Run(name, func(t *testing.T) { lifeOfServer(t, start(t)) })
	}
}

func lifeOfServer(t *testing.T, m machine) {
	m.install("petstore", older)
	m.check()
	d := newDatabase(t)
	write(t, m.path("etc/petstore/owner_url"), d.url("")+"\n")
	newUnit(t, m, "petstore-migrate.service").output()
	d.allowLogins()
	write(t, m.path("etc/petstore/database_url"), d.url("api_server")+"\n")
	settings := programs.Read(t, m.path("etc/petstore/petstore.env")) + "PETSTORE_SUPPORT_EMAIL=help@example.com\n"
	assert.NoError(t, os.WriteFile(m.path("etc/petstore/petstore.env"), []byte(settings), 0o600))
	server := serve(t, newUnit(t, m, "petstore.service"))

	staff := newUnit(t, m, "petstore-migrate.service")
	staff.env = []string{"PETSTORE_DATABASE_URL=" + d.url(storetest.SupportLogin), "HOME=/"}
	staff.output("/usr/bin/petstorectl", "tenant", "create", "acme", "--plan", "pro")
	var issued struct{ Key string }
	assert.NoError(
		t,
		json.Unmarshal([]byte(staff.output("/usr/bin/petstorectl", "key", "issue", "acme", "-o", "json")), &issued),
	)
	get(t, "http://"+server.Addr+"/v1/pets", issued.Key)

	m.install("petstore", newer)
	assert.Equal(t, programs.Read(t, m.path("etc/petstore/petstore.env")), settings, "settings after the upgrade")
	newUnit(t, m, "petstore-migrate.service").output()
	get(t, "http://"+server.Addr+"/v1/pets", issued.Key) // of the program that was replaced
	assert.Equal(t, server.Stop(syscall.SIGTERM), 0, "exit code")
	server = serve(t, newUnit(t, m, "petstore.service"))
	get(t, "http://"+server.Addr+"/v1/pets", issued.Key)
	assert.Equal(t, server.Stop(syscall.SIGTERM), 0, "exit code")

	// What an administrator has changed outlives a removal, and what he wrote himself a purge.
	m.remove()
	saved := "etc/petstore/petstore.env" + map[string]string{"rpm": ".rpmsave"}[m.format]
	m.has(
		map[string]bool{
			"usr/bin/petstore":                        false,
			"usr/lib/systemd/system/petstore.service": false,
			saved:                       true,
			"etc/petstore/database_url": true,
		},
	)
	if m.format == "deb" {
		m.purge()
		m.has(
			map[string]bool{
				"etc/petstore/petstore.env":       false,
				"etc/petstore/database_url":       true,
				"var/lib/dpkg/info/petstore.list": false,
			},
		)
	}
}

// TestPetstorectlFromDeb: the package for staff works alone, and the one for servers takes its
// place.
func TestPetstorectlFromDeb(t *testing.T) {
	t.Parallel()
	m := emptyRoot(t)
	m.install("petstorectl", newer)
	out := run(t, m.path("usr/bin/petstorectl"), "version")
	assert.True(t, strings.HasPrefix(out, "petstorectl "), "petstorectl version prints", out)
	m.tool(
		"--auto-deconfigure",
		"--force-remove-reinstreq",
		"-B",
		"--install",
		packageFile(t, "petstore", newer, "deb"),
	)
	if out := run(
		t,
		"dpkg-query",
		"--admindir="+m.path("var/lib/dpkg"),
		"--show",
		"--showformat=${Package} ${db:Status-Abbrev}\n",
	); !strings.Contains(out, "petstore ii") ||
		strings.Contains(out, "petstorectl ii") {
		t.Errorf("petstore did not take the place of petstorectl:\n%s", out)
	}
}

// serve starts the server, and returns it when "petstore healthcheck" says that it is ready.
func serve(t *testing.T, u *unit) *programs.Server {
	t.Helper()
	s := programs.LaunchCommand(t, u.cmd())
	wait.Until(t, "petstore healthcheck", func() bool {
		check := u.cmd("/usr/bin/petstore", "healthcheck")
		check.Env = append(check.Env, "PETSTORE_ADMIN_ADDR="+s.Admin)
		return check.Run() == nil
	})
	return s
}

// get expects a list of animals. A busy machine may make the server ask for patience.
func get(t *testing.T, url, key string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	wait.Until(t, "200 from "+url, func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		assert.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+key)
		response, err := client.Do(r)
		assert.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if response.StatusCode == http.StatusServiceUnavailable {
			return false
		}
		if err != nil || response.StatusCode != http.StatusOK || !bytes.HasPrefix(body, []byte("[")) ||
			response.Header.Get("X-RateLimit-Limit") != "300" {
			t.Fatalf("GET %s: %s %v %s", url, response.Status, response.Header, body)
		}
		return true
	})
}

// database is an empty one, reached by TCP: a process in another root does not see a socket in this
// one.
type database struct {
	t     *testing.T
	admin *sql.DB
	owner *url.URL
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	existing := storetest.New(t) // whose server has the logins
	admin, err := sql.Open("postgres", existing.URL)
	assert.NoError(t, err)
	const name = "from_a_package"
	d := &database{t: t, admin: admin}
	d.exec("create database " + name)
	t.Cleanup(func() {
		d.exec("drop database " + name + " with (force)")
		_ = admin.Close()
	})
	d.owner, err = url.Parse(storetest.ProxyURL(t, existing.URL, relay))
	assert.NoError(t, err)
	d.owner.Path = "/" + name
	return d
}

// allowLogins lets the logins of the shared server connect.
func (d *database) allowLogins() {
	d.exec("grant connect on database from_a_package to petstore_api, petstore_support")
}

func (d *database) exec(statement string) {
	d.t.Helper()
	_, err := d.admin.Exec(statement)
	assert.NoError(d.t, err)
}

// url returns the database's URL with a login, or with its owner's.
func (d *database) url(login string) string {
	if login == "" {
		return d.owner.String()
	}
	return storetest.As(d.t, d.owner.String(), login)
}

func relay(client, server net.Conn) {
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
	_ = client.Close()
}
