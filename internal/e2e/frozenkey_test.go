package e2e_test

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// TestFrozenBetweenClaimAndCommit: a server stands still when it has claimed an idempotency key and
// done what the request asks for, and before it commits. The key is in progress until Postgres ends
// the server's session. Then another server serves it, and the first one commits nothing when it
// goes on: neither after that, nor while its session is still there but its deadline is over.
func TestFrozenBetweenClaimAndCommit(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, true)
	f := &frozenClaim{deployment: d, servers: d.serveAll(2, patientRedis)}
	f.tenant = d.tenant(plans.Enterprise, hugeQuota, 1)
	for what, ask := range map[string]func() (target, body, lock string){
		"a create": func() (target, body, lock string) {
			return "/pets", `{"name":"Rex","categoryId":7}`, fmt.Sprint(`select from tenants where id = `, f.tenant.ID)
		},
		"an order": func() (target, body, lock string) {
			pet := d.insertPets(f.tenant, 1)[0]
			return "/store/orders", fmt.Sprintf(`{"petId":%d}`, pet), fmt.Sprint(`select from pets where id = `, pet)
		},
	} {
		for _, outlives := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the freeze outlives the session: %v", what, outlives), func(t *testing.T) {
				f.deployment = d.in(t)
				f.try(ask, outlives)
			})
		}
	}
}

// frozenClaim are two servers, of which the first stands still.
type frozenClaim struct {
	*deployment
	servers []*server
	tenant  *tenant
	keys    int
}

func (f *frozenClaim) try(ask func() (target, body, lock string), outlives bool) {
	t := f.t
	t.Helper()
	var target, body, key string
	var first <-chan response
	var again response
	wait.Until(t, "a key in progress while its server stands still", func() (frozen bool) {
		var lock string
		target, body, lock = ask()
		f.keys++
		key = fmt.Sprint("key-", f.keys)
		if first, frozen = f.freeze(target, body, lock, key); !frozen {
			return false
		}
		again = f.send(1, target, body, key)
		if again.code == "idempotency_in_progress" {
			return true
		}
		// The session has ended: this machine is busy.
		assert.NoError(t, f.servers[0].Signal(syscall.SIGCONT))
		<-first
		return false
	}, &again)
	rows := f.rows()
	if outlives {
		f.once(f.settled(target, body, key))
		rows = f.rows()
	} else {
		time.Sleep(1500 * time.Millisecond) // longer than a call may take, and not as long as a session is silent
	}
	assert.NoError(t, f.servers[0].Signal(syscall.SIGCONT))
	assert.Equal(t, (<-first).status, http.StatusServiceUnavailable, "the request of the server that stood still")
	assert.Equal(t, f.rows(), rows, "rows, after it went on")
	if !outlives {
		f.once(f.settled(target, body, key))
	}
	var replay response
	wait.Until(t, "the server that stood still decides again", func() bool {
		replay = f.send(0, target, body, key)
		return replay.status != http.StatusServiceUnavailable
	})
	assert.Equal(t, replay.header.Get("Idempotent-Replayed"), "true", "by the server that stood still", replay)
}

// settled sends the request to the other server until the session of the one that stood still, and
// with it the claim of the key, has ended.
func (f *frozenClaim) settled(target, body, key string) (a response) {
	f.t.Helper()
	wait.Until(f.t, "the end of the session", func() bool {
		a = f.send(1, target, body, key)
		return a.code != "idempotency_in_progress"
	})
	return a
}

// once wants that a request took effect now.
func (f *frozenClaim) once(a response) {
	f.t.Helper()
	assert.Equal(f.t, a.status, http.StatusCreated, a)
	assert.Equal(f.t, a.header.Get("Idempotent-Replayed"), "", "it had taken effect before")
}

func (f *frozenClaim) send(server int, target, body, key string) response {
	return f.client.do(f.t.Context(), http.MethodPost, f.servers[server].URL+target, f.tenant.keys[0].token, body,
		"Idempotency-Key", key)
}

// freeze has a request wait for a lock after it has claimed its key, stops its server, and lets
// Postgres do the rest. It reports whether the transaction then waits for its COMMIT: on a busy
// machine the request may have been given up before.
func (f *frozenClaim) freeze(target, body, lock, key string) (_ <-chan response, frozen bool) {
	tx, err := f.sql.BeginTx(f.t.Context(), nil)
	assert.NoError(f.t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.Exec(lock + ` for update`)
	assert.NoError(f.t, err)
	answered := make(chan response, 1)
	go func() { answered <- f.send(0, target, body, key) }()
	in := func(condition string) bool {
		return f.number(`select count(*) from pg_stat_activity where datname = current_database() and
			application_name = 'petstore_api' and `+condition) > 0
	}
	wait.Until(f.t, "a request that waits for the lock", func() bool {
		return len(answered) > 0 || in(`wait_event_type = 'Lock'`)
	})
	assert.NoError(f.t, f.servers[0].Signal(syscall.SIGSTOP))
	assert.NoError(f.t, tx.Rollback())
	wait.Until(f.t, "the statement's end", func() bool { return !in(`state = 'active' and xact_start is not null`) })
	if !in(`state = 'idle in transaction'`) {
		assert.NoError(f.t, f.servers[0].Signal(syscall.SIGCONT))
		<-answered
		return nil, false
	}
	return answered, true
}

// rows returns how much customers have.
func (f *frozenClaim) rows() (rows string) {
	f.scan(&rows, `select (select count(*) from pets) || ' animals, ' || (select count(*) from orders) || ' orders, '
		|| (select count(*) from idempotency_keys) || ' answers'`)
	return rows
}
