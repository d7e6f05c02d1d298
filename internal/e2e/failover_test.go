package e2e_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
)

// failover is the end of a primary whose standby is promoted. The servers' URL has both hosts.
type failover struct {
	name string
	// synchronous: each commit waits for the standby. lag: the standby lacks the last two seconds.
	synchronous, lag bool
	end              func(*storetest.PrivateServer)
	// comesBack starts the former primary again, as a primary.
	comesBack func(*storetest.PrivateServer)
}

var failoverFaults = func() (all []operatorFault) {
	kill, pause, start, resume := (*storetest.PrivateServer).Kill, (*storetest.PrivateServer).Pause,
		(*storetest.PrivateServer).Start, (*storetest.PrivateServer).Resume
	for _, f := range []failover{
		{name: "the primary killed, and back later; its standby, synchronous, promoted", synchronous: true, end: kill,
			comesBack: start},
		{name: "the primary frozen, and back later; its standby promoted", end: pause, comesBack: resume},
		{name: "the primary killed, and back later; its standby, 2 s behind, promoted", lag: true, end: kill,
			comesBack: start},
	} {
		all = append(all, operatorFault{f.name, f.try})
	}
	return all
}()

func (f failover) try(t *testing.T) faultResult {
	primary := storetest.NewServer(t)
	standby := primary.Standby()
	redis := redistest.New(t)
	d := newDeploymentAs(
		t,
		primary.URL,
		storetest.HostsURL(t, storetest.APILogin, primary, standby),
		primary.SupportURL,
		redis.URL,
	)
	if f.synchronous {
		d.exec(`alter system set synchronous_standby_names = '*'`)
		d.exec(`select pg_reload_conf()`)
	}
	b := newSetBack(t, d, redis)
	stopWriting := startLoad(len(b.servers), func(caller, n int) response {
		defer time.Sleep(20 * time.Millisecond) // a caller's own work
		return b.client.post(b.servers[caller], b.wide.keys[caller].token, fmt.Sprintf("failover-%d-%d", caller, n))
	})
	r := b.run(t, func() {
		if f.lag {
			standby.Detach()
			time.Sleep(2 * time.Second) // the standby is that far behind
		}
		b.stopped = time.Now()
		f.end(primary)
		standby.Promote()
		b.back = time.Now()
		time.Sleep(3 * time.Second) // It comes back when the other one is in use.
		f.comesBack(primary)
	})
	var acknowledged []string
	for _, a := range stopWriting() {
		if a.status == http.StatusCreated {
			_, name, _ := strings.Cut(string(a.body), `"name":"`)
			name, _, _ = strings.Cut(name, `"`)
			acknowledged = append(acknowledged, name)
		}
	}
	there := countIn(t, standby, `select count(distinct name) from pets where name = any($1)`, pq.Array(acknowledged))
	t.Logf("%d of %d acknowledged animals were lost", len(acknowledged)-there, len(acknowledged))
	assert.True(
		t,
		there == len(acknowledged) || !f.synchronous,
		"acknowledged animals are lost although the standby was synchronous",
	)
	latest := countIn(
		t,
		primary,
		`select ceil(1000 * extract(epoch from greatest(max(created_at), $1) - $1))::int from pets`,
		b.back,
	)
	assert.Equal(t, latest, 0, "how long after the promotion the former primary was given an animal, in ms")
	return r
}

func countIn(t *testing.T, s *storetest.PrivateServer, query string, arg any) (n int) {
	t.Helper()
	db, err := sql.Open("postgres", s.URL)
	assert.NoError(t, err)
	defer db.Close()
	assert.NoError(t, db.QueryRow(query, arg).Scan(&n))
	return n
}
