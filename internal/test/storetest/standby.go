package storetest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
)

// Standby returns an asynchronous standby of the server. It follows the primary until Detach.
func (p *PrivateServer) Standby() *PrivateServer {
	p.t.Helper()
	s := prepared(p.t)
	u, err := url.Parse(p.URL)
	assert.NoError(p.t, err)
	data := filepath.Join(s.dir, "postgres", "data")
	assert.NoError(p.t, os.MkdirAll(filepath.Dir(data), 0o755))
	// #nosec G204 -- the arguments are this test's own.
	cmd := sandbox.Command(
		p.t,
		Program(p.t, "pg_basebackup"),
		"--pgdata",
		data,
		"--write-recovery-conf",
		"--checkpoint=fast",
		"--no-sync",
		"--host",
		u.Query().Get("host"),
		"--port",
		u.Query().Get("port"),
		"--username",
		"postgres",
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("standby: %v\n%s", err, out)
	}
	assert.NoError(p.t, giveTo(data, filepath.Join(p.dir, "postgres", "data")), "standby")
	s.Start()
	s.Database = *database(s.server.URL, "postgres")
	return s
}

// Detach ends the standby's replication: it does not get later commits.
func (p *PrivateServer) Detach() {
	p.t.Helper()
	assert.NoError(p.t, p.exec(p.t.Context(), `alter system set primary_conninfo = ''`), "standby")
	assert.NoError(p.t, p.exec(p.t.Context(), `select pg_reload_conf()`), "standby")
}

// Promote makes a standby a primary.
func (p *PrivateServer) Promote() {
	p.t.Helper()
	assert.NoError(p.t, p.exec(p.t.Context(), `select pg_promote()`), "standby")
}

// HostsURL is a login's URL of several servers. It asks for one that is not read-only.
func HostsURL(t testing.TB, login string, servers ...*PrivateServer) string {
	t.Helper()
	var hosts, ports []string
	for _, s := range servers {
		u, err := url.Parse(s.URL)
		assert.NoError(t, err)
		hosts, ports = append(hosts, u.Query().Get("host")), append(ports, u.Query().Get("port"))
	}
	return fmt.Sprintf(
		"host=%s port=%s user=%s password=unused dbname=postgres sslmode=disable target_session_attrs=read-write",
		strings.Join(hosts, ","),
		strings.Join(ports, ","),
		login,
	)
}

// giveTo gives dir and everything in it to the owner of another directory, if this process is root.
func giveTo(dir, ofOwner string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(ofOwner)
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t)
	return filepath.Walk(filepath.Dir(dir), func(path string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Lchown(path, int(owner.Uid), int(owner.Gid)))
	})
}

// Program returns the path of one of PostgreSQL's programs.
func Program(t testing.TB, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	dir, err := sandbox.Command(t, "pg_config", "--bindir").Output()
	assert.NoError(t, err, name, "is not in PATH, and pg_config does not say where it is")
	return filepath.Join(strings.TrimSpace(string(dir)), name)
}
