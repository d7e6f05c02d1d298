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
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/lib/pq"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// systemdInstalled is the status database of a root in which nothing is installed but systemd, on which the package depends.
const systemdInstalled = `Package: systemd
Status: install ok installed
Maintainer: nobody
Architecture: all
Version: 252.39-1~deb12u1
Description: stands in for the package of Debian 12
`

// emptyRoot returns a root for dpkg.
func emptyRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"info", "updates"} {
		assert.NoError(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755))
	}
	write(t, filepath.Join(root, "var/lib/dpkg/status"), systemdInstalled)
	write(t, filepath.Join(root, "var/lib/dpkg/available"), "")
	// A process of another user passes through t.TempDir.
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		assert.NoError(t, os.Chmod(dir, 0o755))
	}
	return root
}

// dpkg runs dpkg on a root. The root has no shell, so scripts run outside and are told where the root is.
func dpkg(t *testing.T, root string, args ...string) string {
	t.Helper()
	return run(t, "dpkg", append([]string{"--root=" + root, "--force-script-chrootless", "--log=/dev/null"}, args...)...)
}

// TestServerFromDeb follows docs/running.md from the installation to the first request, with the package in a root that is empty but for it.
func TestServerFromDeb(t *testing.T) {
	t.Parallel()
	root := emptyRoot(t)
	dpkg(t, root, "--install", packageFile(t, "petstore", "deb"))
	checkFiles(t, root)

	d := newDatabase(t)
	write(t, filepath.Join(root, "etc/petstore/owner_url"), d.url("")+"\n")
	newUnit(t, root, "petstore-migrate.service").output()
	d.allowLogins()

	write(t, filepath.Join(root, "etc/petstore/database_url"), d.url("api_server")+"\n")
	server := serve(t, newUnit(t, root, "petstore.service"))

	staff := newUnit(t, root, "petstore-migrate.service")
	staff.env = []string{"PETSTORE_DATABASE_URL=" + d.url(storetest.SupportLogin), "HOME=/"}
	staff.output("/usr/bin/petstorectl", "tenant", "create", "acme", "--plan", "pro")
	var issued struct{ Key string }
	assert.NoError(t, json.Unmarshal([]byte(staff.output("/usr/bin/petstorectl", "key", "issue", "acme", "-o", "json")), &issued))
	get(t, "http://"+server.Addr+"/v1/pets", issued.Key)

	// What an administrator has changed outlives a removal.
	dpkg(t, root, "--remove", "petstore")
	for path, want := range map[string]bool{"usr/bin/petstore": false, "usr/lib/systemd/system/petstore.service": false, "etc/petstore/petstore.env": true} {
		if _, err := os.Stat(filepath.Join(root, path)); (err == nil) != want {
			t.Errorf("/%s after the removal: %v, want it there: %v", path, err, want)
		}
	}
}

// TestPetstorectlFromDeb: the package for staff works alone, and the one for servers takes its place.
func TestPetstorectlFromDeb(t *testing.T) {
	t.Parallel()
	root := emptyRoot(t)
	dpkg(t, root, "--install", packageFile(t, "petstorectl", "deb"))
	out := run(t, filepath.Join(root, "usr/bin/petstorectl"), "version")
	assert.True(t, strings.HasPrefix(out, "petstorectl "), "petstorectl version prints", out)
	dpkg(t, root, "--auto-deconfigure", "--force-remove-reinstreq", "-B", "--install", packageFile(t, "petstore", "deb"))
	if out := run(t, "dpkg-query", "--admindir="+filepath.Join(root, "var/lib/dpkg"), "--show", "--showformat=${Package} ${db:Status-Abbrev}\n"); !strings.Contains(out, "petstore ii") || strings.Contains(out, "petstorectl ii") {
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
		if err != nil || response.StatusCode != http.StatusOK || !bytes.HasPrefix(body, []byte("[")) || response.Header.Get("X-RateLimit-Limit") != "300" {
			t.Fatalf("GET %s: %s %v %s", url, response.Status, response.Header, body)
		}
		return true
	})
}

// database is an empty one, reached by TCP: a process in another root does not see a socket in this one.
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
