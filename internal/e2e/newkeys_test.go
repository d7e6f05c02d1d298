package e2e_test

import (
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// TestNewKeysAreForTheLiveServers: key issue makes keys of the kind that the live servers of the
// database accept, which each notes when it starts. With both kinds, or none, it must be said.
func TestNewKeysAreForTheLiveServers(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	d.ctl("tenant", "create", "acme", "--plan", "pro")
	issues := func(want string) {
		t.Helper()
		var c command
		wait.Until(t, want+" from key issue", func() bool {
			c = d.tryCtl("key", "issue", "acme", "--dry-run")
			return strings.Contains(c.stdout+c.stderr, want)
		}, &c)
	}
	const none, both = "no live server of this database", "live servers for live keys and for test keys"
	issues(none)
	staging := d.serve("PETSTORE_ENVIRONMENT=staging")
	issues("a test key works on staging deployments and petstore dev only: decided by the live servers of the database")
	production := d.serve()
	issues(both)
	assert.Equal(t, d.tryCtl("key", "issue", "acme", "--environment", "live").code, 0, "it is said")
	staging.Stop(syscall.SIGTERM)
	issues("a live key works on production deployments only: decided by the live servers of the database")
	production.Stop(syscall.SIGTERM)
	issues(none)
}
