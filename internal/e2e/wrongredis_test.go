package e2e_test

import (
	"strings"
	"testing"

	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
)

// TestWrongRedis: a server that is configured for another Redis than the others, or with a login that is refused, ends at its start and names
// the variable. The others notice nothing. A server that is alone starts: it counts in the Redis that it has, or in Postgres.
func TestWrongRedis(t *testing.T) {
	t.Parallel()
	redis, other := redistest.New(t), redistest.New(t)
	refused := "redis://nobody:wrong@" + redis.Addr + "/0"
	d := newDeploymentOn(t, storetest.New(t).URL, redis.URL)
	servers := d.serveAll(2, patientRedis)
	for url, want := range map[string]string{
		refused:   "WRONGPASS",
		other.URL: "another Redis than the other servers",
	} {
		wrong := d.start("PETSTORE_REDIS_URL=" + url)
		code, said := wrong.Wait(), wrong.Stderr()
		if code == 0 || !strings.Contains(said, "PETSTORE_REDIS_URL: other servers count limits in Redis, and this one can't: ") || !strings.Contains(said, want) {
			t.Errorf("%s: exit %d: %s", url, code, said)
		}
		for _, s := range servers {
			if r := s.Ready(); r.Redis != "up" || r.Status != "ready" {
				t.Errorf("%s: another server is %+v", url, r)
			}
		}
	}
	single := newDeploymentOn(t, storetest.New(t).URL, refused)
	if r := single.launch().Ready(); r.Redis != "down" || r.Status != "degraded" {
		t.Errorf("alone, with a login that is refused: %+v", r)
	}
}
