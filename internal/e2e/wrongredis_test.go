package e2e_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// TestWrongRedis: a server that is configured for another Redis than the others, or with a login
// that is refused, ends at its start and names the variable. The others notice nothing. A server
// that is alone starts: it counts in the Redis that it has, or in Postgres.
func TestWrongRedis(t *testing.T) {
	t.Parallel()
	redis, other := redistest.New(t), redistest.New(t)
	refused := "redis://nobody:wrong@" + redis.Addr + "/0"
	d := newDeploymentOn(t, storetest.New(t).URL, redis.URL)
	servers := d.serveAll(2, patientRedis)
	becomes := func(s *server, redis, status string) {
		t.Helper()
		wait.Until(
			t,
			"Redis "+redis+", "+status,
			func() bool { r := s.Ready(); return r.Redis == redis && r.Status == status },
			s.Ready,
		)
	}
	for url, want := range map[string]string{
		refused:   "WRONGPASS",
		other.URL: "another Redis than the other servers",
	} {
		wrong := d.start(patientRedis, "PETSTORE_REDIS_URL="+url)
		code, said := wrong.Wait(), wrong.Stderr()
		if code == 0 ||
			!strings.Contains(said, "PETSTORE_REDIS_URL: other servers count limits in Redis, and this one can't: ") ||
			!strings.Contains(said, want) {
			t.Errorf("%s: exit %d: %s", url, code, said)
		}
		for _, s := range servers {
			becomes(s, "up", "ready")
			assert.Equal(t, s.Logged("has lost Redis"), 0, url, "another server: lines of lost Redis")
		}
	}
	s := newDeploymentOn(t, storetest.New(t).URL, refused).launch()
	becomes(s, "down", "degraded")
	assert.Equal(
		t,
		s.Logged(`"level":"warn"`, "PETSTORE_REDIS_URL: WRONGPASS", "; check user and password in the URL"),
		1,
		"lines that say what to do",
	)
}

// TestPasswordOfRedisChanges as docs/running.md has it: both passwords hold while the servers are
// restarted. In the other order no server reaches Redis, none ends, and all count in Postgres until
// more than half have the new password.
func TestPasswordOfRedisChanges(t *testing.T) {
	t.Parallel()
	own := redistest.New(t)
	c := redis.NewClient(&redis.Options{Addr: own.Addr, PoolSize: 1, DisableIdentity: true})
	t.Cleanup(func() { c.Close() })
	acl := func(rule string) {
		t.Helper()
		assert.NoError(t, c.Do(t.Context(), "ACL", "SETUSER", "default", rule).Err())
	}
	with := func(password string) string { return "PETSTORE_REDIS_URL=redis://:" + password + "@" + own.Addr + "/0" }
	assert.NoError(
		t,
		c.Do(t.Context(), "ACL", "SETUSER", "admin", "on", "nopass", "allcommands", "allkeys", "allchannels").Err(),
	)
	assert.NoError(t, c.Do(t.Context(), "AUTH", "admin", "").Err())
	acl("resetpass")
	acl(">first")
	d := newDeploymentOn(t, storetest.New(t).URL, own.URL)
	servers := d.serveAll(2, patientRedis, with("first"))
	inRedis := func(redis string) {
		t.Helper()
		for _, s := range servers {
			wait.Until(t, "Redis "+redis, func() bool { return s.Ready().Redis == redis })
		}
	}
	restart := func(password string) {
		t.Helper()
		for i, s := range servers {
			s.Stop(syscall.SIGTERM)
			servers[i] = d.launch(patientRedis, with(password))
		}
		inRedis("up")
	}
	inRedis("up")
	acl(">second")
	restart("second")
	acl("<first")

	acl("resetpass")
	acl(">third")
	assert.NoError(t, c.Do(t.Context(), "CLIENT", "KILL", "USER", "default").Err())
	inRedis("down")
	key := d.tenant(plans.Enterprise, hugeQuota, 1).keys[0].token
	for _, s := range servers {
		wait.Until(
			t,
			"an admitted request",
			func() bool { return d.client.get(s, key, "/pets").status == http.StatusOK },
		)
	}
	restart("third")
}
