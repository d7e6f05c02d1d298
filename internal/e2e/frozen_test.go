package e2e_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/oracle"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// freeze freezes a database as an operator does: the setting acts on new sessions alone, so the
// others are ended.
func freeze(d *deployment) {
	d.t.Helper()
	d.exec(`alter database postgres set default_transaction_read_only = on`)
	d.exec(`select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`)
}

// thaw undoes freeze.
func thaw(d *deployment) {
	d.t.Helper()
	d.exec(`alter database postgres reset default_transaction_read_only`)
}

// newFreezable returns a deployment whose owner may always write.
func newFreezable(t *testing.T, serverURL func(*storetest.PrivateServer) string) *deployment {
	t.Helper()
	s := storetest.NewServer(t)
	return newDeploymentAs(t, s.URL+"&default_transaction_read_only=off", serverURL(s), s.SupportURL,
		redistest.New(t).URL)
}

// TestFrozenDatabase: a database is frozen under the load of two servers, and thawed. Nothing is
// written meanwhile, requests end as when Postgres is away, and nobody restarts the servers. Each
// request that was admitted is recorded after the thaw, and no acknowledged animal is lost.
func TestFrozenDatabase(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"directly", "PgBouncer in session mode"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			var dialed func() int64
			d := newFreezable(t, func(s *storetest.PrivateServer) string {
				address := newSwitch(t, s.URL)
				dialed = address.dialed.Load
				if by == "directly" {
					return address.url(t, s.APIURL)
				}
				return startPgBouncer(t, address.url(t, s.APIURL), "session", "default_pool_size = 60")
			})
			tryFrozen(d, by, dialed)
		})
	}
}

func tryFrozen(d *deployment, by string, dialed func() int64) {
	t := d.t
	tn := d.tenant(plans.Enterprise, hugeQuota, 1)
	token := tn.keys[0].token
	servers := d.serveAll(2)
	stop := startLoad(8, func(caller, n int) response {
		return d.client.post(servers[caller%2], token, fmt.Sprintf("frozen-%d-%d", caller, n))
	})
	time.Sleep(time.Second) // the load before
	before, began := dialed(), time.Now()
	freeze(d)
	animals := d.number(`select count(*) from pets`)
	for _, s := range servers {
		wait.Until(t, "a server that refuses", func() bool {
			r := s.Ready()
			return r.Status == "unavailable" && r.Database == "read_only"
		})
	}
	time.Sleep(5 * time.Second) // the freeze lasts that long
	for _, s := range servers {
		status, body := s.Ask("/readyz?verbose")
		assert.Equal(t, status, 503)
		assert.Contains(t, string(body), "pg_settings.source: database")
		status, _ = s.Ask("/livez")
		assert.Equal(t, status, 200, "/livez")
		a := d.client.get(s, token, "/pets?limit=1")
		assert.Equal(t, fmt.Sprint(a.status, a.code), "503unavailable", "a request while it is frozen")
	}
	assert.Equal(t, d.number(`select count(*) from pets`), animals, "animals that were written while it was frozen")
	assert.Contains(t, d.ctl("tenant", "list").stdout, tn.Name)
	c := d.tryCtl("tenant", "suspend", tn.Name, "--yes", "--reason", "test")
	assert.Equal(t, c.code, 5, "a change by petstorectl", c.stderr)
	assert.Contains(t, c.stderr, "pg_settings.source: database")
	connections, took := dialed()-before, time.Since(began)
	thaw(d)
	for _, s := range servers {
		wait.Until(t, "a server that is ready again", s.isReady)
	}
	all := stop()
	t.Logf("%s: %d connections in %v; %v", by, connections, took.Round(time.Millisecond), countByCode(all))
	if most := 2 * (int64(took/time.Second) + 3) * (poolsOfServer + 2); connections > most {
		t.Errorf("%d connections in %v, want at most %d", connections, took, most)
	}
	checkAcknowledged(d, all)
	var counted int64
	for _, a := range all {
		if a.status == 201 {
			counted++
		}
	}
	wait.Until(t, "all that was admitted recorded", func() bool {
		return d.number(`select coalesce(sum(admitted), 0) from usage_hourly`) >= counted
	}, &counted)
}

// checkAcknowledged checks that all animals with a response of 201 are there.
func checkAcknowledged(d *deployment, all []response) {
	d.t.Helper()
	var ids []int64
	for _, a := range all {
		if a.status == 201 {
			ids = append(ids, idOf(a))
		}
	}
	there := d.number(`select count(*) from pets where id = any($1)`, pq.Array(ids))
	assert.True(d.t, len(ids) > 0 && there == int64(len(ids)), "acknowledged animals", len(ids), "of which are there",
		there)
}

// TestStartedWhileFrozen: a server that is started while the database is frozen behaves as one that
// ran before: it refuses, says why, and serves after the thaw without a restart.
func TestStartedWhileFrozen(t *testing.T) {
	t.Parallel()
	d := newFreezable(t, func(s *storetest.PrivateServer) string { return s.APIURL })
	tn := d.tenant(plans.Enterprise, hugeQuota, 1)
	freeze(d)
	s := d.launch()
	wait.Until(t, "a server that says why it refuses", func() bool { return s.Ready().Database == "read_only" })
	status, body := s.Ask("/readyz?verbose")
	assert.Equal(t, status, 503)
	assert.Contains(t, string(body), "pg_settings.source: database")
	status, _ = s.Ask("/livez")
	assert.Equal(t, status, 200, "/livez")
	a := d.client.post(s, tn.keys[0].token, "frozen")
	assert.Equal(t, fmt.Sprint(a.status, a.code), "503unavailable", "a request while it is frozen")
	thaw(d)
	wait.Until(t, "a request that is served after the thaw", func() bool {
		return d.client.post(s, tn.keys[0].token, "thawed").status == 201
	})
	wait.Until(t, "a server that is ready", s.isReady)
	assert.Equal(t, d.number(`select count(*) from pets`), 1, "animals")
}

// TestStopWhileFrozen: a server that ends while the database is frozen says how many requests are
// lost.
func TestStopWhileFrozen(t *testing.T) {
	t.Parallel()
	d := newFreezable(t, func(s *storetest.PrivateServer) string { return s.APIURL })
	tn := d.tenant(plans.Enterprise, hugeQuota, 1)
	s := d.serve()
	stop := startLoad(4, func(int, int) response { return d.client.get(s, tn.keys[0].token, "/pets?limit=1") })
	time.Sleep(time.Second) // so that requests are under way
	freeze(d)
	wait.Until(t, "a server that refuses", func() bool { return s.Ready().Database == "read_only" })
	stop()
	s.Expects = "was not recorded"
	s.Stop(syscall.SIGTERM)
	assert.True(t, strings.Contains(s.Stderr(), "admitted and 0 refused requests was not recorded"), s.Stderr())
}

// TestFreezeMoveUnfreeze follows docs/running.md#freeze-move-unfreeze while customers go on: the
// servers stop, the database is frozen, its standby, which has all then, is promoted and thawed, and
// the servers start on it. The oracle judges what the customers saw, and nothing is written to the
// former primary.
func TestFreezeMoveUnfreeze(t *testing.T) {
	t.Parallel()
	primary := storetest.NewServer(t)
	standby := primary.Standby()
	redis := redistest.New(t)
	d := newDeploymentAs(t, primary.URL+"&default_transaction_read_only=off", primary.APIURL, primary.SupportURL,
		redis.URL)
	l := &oracleLoad{deployment: d, seed: 56, cycle: time.Second} // a seed that TestOracle does not have
	serve := func(d *deployment) {
		for i := range l.servers {
			l.servers[i].Store(d.serve())
		}
	}
	serve(d)
	l.prepare()
	stop := l.begin()
	time.Sleep(time.Second) // the load before the move
	began := time.Now()
	for i := range l.servers {
		l.servers[i].Load().Stop(syscall.SIGTERM)
	}
	freeze(d)
	animals := d.number(`select count(*) from pets`)
	c := d.tryCtl("tenant", "suspend", l.creates.Name, "--yes", "--reason", "test")
	assert.Equal(t, c.code, 5, "a change on the frozen one", c.stderr)
	wait.Until(t, "a standby that has all", func() bool {
		return d.number(`select count(*) from pg_stat_replication where replay_lsn = pg_current_wal_lsn()`) == 1
	})
	standby.Promote()
	moved := newDeploymentAs(t, standby.URL+"&default_transaction_read_only=off", standby.APIURL, standby.SupportURL,
		redis.URL)
	assert.Equal(t, moved.number(`select count(*) from pets`), animals, "animals that were moved")
	thaw(moved)
	serve(moved)
	l.out.Fault(oracle.Fault{What: "the move", Start: began, End: time.Now()})
	time.Sleep(time.Second) // the load after the move
	stop()
	r, _ := l.judge()
	assert.True(t, r.Windows > 0 && r.Bills >= 4 && r.Creates > 0 && r.Lists > 0, "this run has shown nothing", r)
	assert.Equal(t, d.number(`select count(*) from pets`), animals, "animals of the former primary")
}
