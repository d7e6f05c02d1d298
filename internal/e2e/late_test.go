package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"petstore.example/internal/limits/redisbackend/redistest"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/storetest"
	"petstore.example/internal/test/wait"
)

// lateWrites are two servers with one Redis. What the first sends to Postgres can be held up.
type lateWrites struct {
	*deployment
	way            heldWay
	stalled, other *server
	tenant         *tenant
	pets           []int64
}

func newLateWrites(t *testing.T, pets int) *lateWrites {
	t.Helper()
	w := &lateWrites{deployment: newDeploymentOn(t, storetest.New(t).URL, redistest.New(t).URL)}
	w.stalled = w.serve("PETSTORE_DATABASE_URL=" + storetest.ProxyURL(t, w.serverURL, w.way.relay))
	w.other = w.serve()
	w.tenant = w.deployment.tenant(plans.Enterprise, hugeQuota, 1)
	w.pets = w.insertPets(w.tenant, pets)
	return w
}

// rename sends a PATCH once with c.
func (w *lateWrites) rename(c *client, s *server, pet int64, name string) response {
	return c.do(context.Background(), http.MethodPatch, fmt.Sprintf("%s/pets/%d", s.url, pet), w.tenant.keys[0].token, fmt.Sprintf(`{"name":%q}`, name))
}

func (w *lateWrites) nameOf(pet int64) (name string) {
	w.scan(&name, `select name from pets where id = $1`, pet)
	return name
}

// TestRefusedWriteDoesNotHappenLater: what a server sends to Postgres is held up, so its PATCH is answered with 503. Another server's PATCH is
// acknowledged. It stays when the bytes arrive.
func TestRefusedWriteDoesNotHappenLater(t *testing.T) {
	t.Parallel()
	w := newLateWrites(t, 1)
	for _, s := range []*server{w.stalled, w.other} {
		if a := w.rename(w.patient, s, w.pets[0], "n-0"); a.status != http.StatusOK { // The statement is prepared.
			t.Fatal(a)
		}
	}
	release := w.way.hold(everything)
	closed := w.way.closed.Load()
	refused := w.rename(w.deployment.client, w.stalled, w.pets[0], "n-1")
	if refused.status != http.StatusServiceUnavailable || refused.code != "outcome_unknown" {
		t.Fatalf("a write that does not reach Postgres: %v", refused)
	}
	if a := w.rename(w.patient, w.other, w.pets[0], "n-2"); a.status != http.StatusOK {
		t.Fatal(a)
	}
	wait.Until(t, "a connection that was given up", func() bool { return w.way.closed.Load() > closed })
	release()
	wait.Until(t, "a Postgres that has done what it was sent", w.way.settled)
	if name := w.nameOf(w.pets[0]); name != "n-2" {
		t.Errorf("the row says %s: %v, and then n-2 was acknowledged", name, refused)
	}
}
