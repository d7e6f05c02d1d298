package storetest

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/test/sandbox"
)

// Standby returns an asynchronous standby of the server. It follows the primary until Detach.
func (p *PrivateServer) Standby() *PrivateServer {
	p.t.Helper()
	s := prepared(p.t)
	u, err := url.Parse(p.URL)
	if err != nil {
		p.t.Fatal(err)
	}
	data := filepath.Join(s.dir, "postgres", "data")
	if err := os.MkdirAll(filepath.Dir(data), 0o755); err != nil {
		p.t.Fatal(err)
	}
	// #nosec G204 -- the arguments are this test's own.
	cmd := sandbox.Command(p.t, Program(p.t, "pg_basebackup"), "--pgdata", data, "--write-recovery-conf", "--checkpoint=fast", "--no-sync",
		"--host", u.Query().Get("host"), "--port", u.Query().Get("port"), "--username", "postgres")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("standby: %v\n%s", err, out)
	}
	if err := giveTo(data, filepath.Join(p.dir, "postgres", "data")); err != nil {
		p.t.Fatalf("standby: %v", err)
	}
	s.Start()
	s.Database = *database(s.server, "postgres")
	return s
}

// Detach ends the standby's replication: what is committed from then on does not reach it.
func (p *PrivateServer) Detach() {
	p.t.Helper()
	if err := errors.Join(p.exec(p.t.Context(), `alter system set primary_conninfo = ''`), p.exec(p.t.Context(), `select pg_reload_conf()`)); err != nil {
		p.t.Fatalf("standby: %v", err)
	}
}

// Promote makes a standby a primary.
func (p *PrivateServer) Promote() {
	p.t.Helper()
	if err := p.exec(p.t.Context(), `select pg_promote()`); err != nil {
		p.t.Fatalf("standby: %v", err)
	}
}

// giveTo makes the owner of another directory the owner of dir and of all in it, if this process is root.
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
	if err != nil {
		t.Fatalf("%s is not in PATH, and pg_config does not say where it is: %v", name, err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), name)
}
