package e2e_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// TestLimitsReset: a tenant is in windows of tomorrow, in Postgres and in Redis, as after a clock
// of Postgres that was set forward and back. The owner resets its limits: it has what its day has
// left, at once.
func TestLimitsReset(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, true)
	servers := d.serveAll(2)
	d.avoidMidnight()
	tn := d.tenantEnding(time.Now().Add(8*time.Second), plans.Free, nil, 1)
	other := d.freshTenant(plans.Free, nil, 1)
	token := tn.keys[0].token
	send := func(n int) (all []response) {
		for i := range n {
			all = append(all, d.patient.get(servers[i%2], token, "/pets?limit=1"))
		}
		return all
	}
	used := admitted(send(9))
	wait.Until(t, "recorded usage", func() bool {
		return d.number(`select coalesce(sum(admitted), 0) from usage_hourly where tenant_id = $1`, tn.ID) == used
	})
	d.toTomorrow(tn)
	if a := send(1)[0]; a.status != 429 || a.integer("Retry-After") < 3600 {
		t.Fatalf("after the fault: %v", a)
	}

	c := runCtl(
		d,
		"",
		[]string{"PETSTORE_DATABASE_URL=" + d.databaseURL},
		"limits",
		"reset",
		tn.Name,
		"--yes",
		"--reason",
		"test",
	)
	if c.code != 0 {
		t.Fatalf("limits reset: %+v", c)
	}
	d.awaitRedisTerm()
	a := send(1)[0]
	if left := a.windows["day"].remaining; a.status != 200 || left != 1000-used-1 {
		t.Errorf("after the reset: %v, %d remain of the day, want %d", a, left, 1000-used-1)
	}
	if a := d.patient.get(
		servers[1],
		other.keys[0].token,
		"/pets",
	); a.status != 200 ||
		a.windows["minute"].remaining != 59 {
		t.Errorf("another tenant: %v, %d remain", a, a.windows["minute"].remaining)
	}
}

// toTomorrow moves the tenant's windows to those of 25 hours later, used up, in Redis and in
// Postgres.
func (d *deployment) toTomorrow(tn *tenant) {
	d.t.Helper()
	client, err := redisbackend.NewClient(d.redisURL, time.Minute)
	assert.NoError(d.t, err)
	defer client.Close()
	const move = `local state = redis.call('GET', KEYS[1])
		local term, version, minute, _, day = struct.unpack('<ddddd', state)
		redis.call('SETRANGE', KEYS[1], 16, struct.pack('<dddd', minute + 1500, 60, day + 1, 1000))`
	if err := client.Eval(
		d.t.Context(),
		move,
		[]string{fmt.Sprintf("pst:4:{%d}", tn.ID)},
	).Err(); err != nil &&
		!errors.Is(err, redis.Nil) {
		d.t.Fatal(err)
	}
	_, err = d.sql.ExecContext(d.t.Context(), fmt.Sprintf(`begin;
		alter table limit_states disable trigger user;
		update limit_states set minute = minute + 1500, minute_used = 60, day = day + 1, day_used = 1000 where
			tenant_id = %d;
		alter table limit_states enable trigger user;
		commit`, tn.ID))
	assert.NoError(d.t, err)
}

func (d *deployment) awaitRedisTerm() {
	d.t.Helper()
	wait.Until(d.t, "a term in which Redis decides", func() bool {
		return d.number(`select count(*) from cluster_term where active and redis <> ''`) == 1
	})
}
