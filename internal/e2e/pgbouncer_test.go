package e2e_test

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
	"petstore.example/internal/webhooks"
)

// startPgBouncer starts a PgBouncer before the database, at its socket or its TCP address, and
// returns the database's URL through it. It refuses to run as root.
func startPgBouncer(t testing.TB, databaseURL, mode string, settings ...string) string {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/pgbouncer") // not in the PATH of users on Debian
	}
	assert.NoError(t, err, "install it with tools/install.sh pgbouncer, as make test does")
	direct, err := url.Parse(databaseURL)
	if err == nil && direct.Host == "" {
		direct, err = url.Parse(storetest.ProxyURL(t, databaseURL, passOn))
	}
	assert.NoError(t, err)
	dir, login := openDir(t, nobody), direct.User.Username()
	users, config := filepath.Join(dir, "users"), filepath.Join(dir, "pgbouncer.ini")
	lines := append([]string{
		"[databases]",
		fmt.Sprintf("* = host=%s port=%s", direct.Hostname(), direct.Port()),
		"[pgbouncer]",
		"pool_mode = " + mode,
		"listen_addr =",
		"unix_socket_dir = " + dir,
		"auth_type = trust",
		"auth_file = " + users,
	}, settings...)
	for name, text := range map[string]string{users: fmt.Sprintf("%q \"\"\n", login),
		config: strings.Join(lines, "\n") + "\n"} {
		assert.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	// Debian's version 1.18 may end when a query is canceled, as a server's is whose time is over:
	// then it is started again.
	cmd := sandbox.Command(
		t,
		"sh",
		"-c",
		`trap 'kill $!; exit' TERM; while :; do "$0" "$1" & wait $! || sleep 1; done`,
		path,
		config,
	)
	cmd.Dir = dir
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	p := programs.Start(t, cmd)
	wait.Until(t, "PgBouncer listens", func() bool {
		select {
		case <-p.Done():
			t.Fatalf("PgBouncer has ended: %s", p.Stderr())
		default:
		}
		conn, err := net.Dial("unix", filepath.Join(dir, ".s.PGSQL.6432"))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	pooled := url.URL{
		Scheme: "postgres", User: direct.User, Path: cmp.Or(direct.Path, "/"),
		RawQuery: url.Values{"host": {dir}, "port": {"6432"}, "sslmode": {"disable"}}.Encode(),
	}
	return pooled.String()
}

// ignored is what a PgBouncer needs for clients that send these settings when they connect.
const ignored = "ignore_startup_parameters = role,statement_timeout,idle_in_transaction_session_timeout,plan_cache_mode"

// TestPgBouncer: behind a pooler that keeps a session for each client a server works and hears of
// changes. Behind one that does not, it does not start.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	t.Run("session", func(t *testing.T) {
		t.Parallel()
		checkDocumented(t, "pooler in session mode", "starts", "")
		d := d.in(t)
		d.serverURL = startPgBouncer(t, d.serverURL, "session")
		checkWorkingServer(d, d.serve("PETSTORE_SECRETS_KEY="+webhooks.NewKey()))
	})
	for name, settings := range map[string][]string{"transaction": nil, "transaction, settings ignored": {ignored}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := "PETSTORE_DATABASE_URL=" + startPgBouncer(t, d.serverURL, "transaction", settings...)
			var p *programs.Process
			wait.Until(t, "PgBouncer does not end meanwhile", func() bool {
				p = programs.Start(
					t,
					sandbox.Command(t, d.petstore, "serve"),
					"PETSTORE_ADDR=127.0.0.1:0",
					"PETSTORE_ADMIN_ADDR=127.0.0.1:0",
					database,
				)
				p.Wait()
				return !strings.Contains(p.Stderr(), "reach the database")
			})
			const line = "a notification of this server to itself did not arrive: " +
				"a pooler shares the connections (PgBouncer in transaction mode); connect directly, or by a pooler " +
				"in session mode"
			checkDocumented(t, "pooler in transaction mode", "fails", line)
			p.FailsWith(line)
		})
	}
}

// TestPgBouncerSettings: if a setting of PgBouncer stops a program, its hint names that setting.
func TestPgBouncerSettings(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	const (
		refused = "PgBouncer takes no such setting: leave it out of the URL, or name it in ignore_startup_parameters"
		reset   = "set server_reset_query = DISCARD ALL in PgBouncer"
	)
	checkDocumented(t, "pooler that refuses a setting in the URL", "fails", refused)
	checkDocumented(t, "pooler that resets no session", "fails", reset)
	for name, c := range map[string]struct{ setting, query, want string }{
		"a setting in the URL": {"", "&statement_timeout=5000", refused},
		"options in the URL":   {"", "&options=-c%20statement_timeout%3D5000", refused},
		"nothing is reset":     {"server_reset_query =", "", reset},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := d.in(t)
			d.serverURL = startPgBouncer(t, d.serverURL, "session", c.setting) + c.query
			d.staffURL = startPgBouncer(t, d.staffURL, "session", c.setting) + c.query
			var said string // The first client leaves a session behind, and a later one gets it.
			wait.Until(t, c.want+" in what petstore says", func() bool {
				p := programs.Start(t, sandbox.Command(t, d.petstore, "serve", "--check"), d.env()...)
				p.Wait()
				said = p.Stdout() + p.Stderr()
				return strings.Contains(said, c.want)
			}, &said)
			wait.Until(t, c.want+" in what petstorectl says", func() bool {
				said = d.tryCtl("tenant", "list").stderr
				return strings.Contains(said, c.want)
			}, &said)
		})
	}
}
