package e2e_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/oracle"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// evil is a fault that lasts.
type evil struct {
	what string
	// on are what it needs for itself.
	on         []string
	lasts      time.Duration
	begin, end func()
}

// nemesis makes faults, two at a time, by a seed. In make soak some seeds have Sentinels in place
// of one Redis, clocks that are set, or a Postgres that is set back in the middle of the run.
type nemesis struct {
	*oracleLoad
	t         *testing.T
	rnd       *rand.Rand
	postgres  *storetest.PrivateServer
	moved     *switchProxy
	second    *switchProxy         // the second host of the URL; nil if it has one
	redis     *redistest.Server    // nil with sentinels
	sentinels *redistest.Sentinels // nil with one Redis
	toDB      [3]*way
	toRedis   [3]*way
	launch    [3]func() *server
	setClock  func(ahead time.Duration) // of the last server; nil if it can't be set
	setStore  func(ahead time.Duration) // the clock of Postgres; nil if it can't be set
	setBack   func() oracle.Fault       // nil if the database is not set back
	standby   *storetest.PrivateServer  // to which the address is led astray; nil if there is none
}

func newNemesis(t *testing.T, l *oracleLoad, seed uint64) *nemesis {
	t.Helper()
	n := &nemesis{oracleLoad: l, t: t, rnd: rand.New(rand.NewPCG(seed, 1<<32))}
	if long() && seed%4 == 0 {
		n.postgres, n.setStore = serverWithClock(t)
	} else {
		n.postgres = storetest.NewServer(t)
	}
	var redisURL string
	if long() && seed%4 == 1 {
		n.sentinels = redistest.NewSentinels(t)
		redisURL = n.sentinels.URL
	} else {
		n.redis = redistest.New(t)
		redisURL = n.redis.URL
	}
	l.deployment = newDeploymentAs(t, n.postgres.URL, n.postgres.APIURL, n.postgres.SupportURL, redisURL)
	n.moved = newSwitch(t, n.postgres.URL)
	database, err := url.Parse(n.moved.url(t, n.postgres.APIURL))
	assert.NoError(t, err)
	if long() && seed%8 == 6 {
		n.second = newSwitch(t, n.postgres.URL)
		database.RawQuery += "&target_session_attrs=read-write"
	}
	for i := range l.servers {
		n.toDB[i], n.toRedis[i] = &way{}, &way{}
		database.Host = storetest.Proxy(t, "tcp", n.moved.addr, n.toDB[i].relay)
		if n.second != nil {
			database.Host += "," + storetest.Proxy(t, "tcp", n.second.addr, n.toDB[i].relay)
		}
		env := []string{"PETSTORE_DATABASE_URL=" + database.String()}
		if n.redis != nil {
			env = append(
				env,
				"PETSTORE_REDIS_URL=redis://"+storetest.Proxy(t, "tcp", n.redis.Addr, n.toRedis[i].relay)+"/0",
			)
		}
		d := l.deployment
		if long() && seed%2 == 1 && i == len(l.servers)-1 {
			var clock string
			d, clock, n.setClock = d.withClock(0)
			env = append(env, clock)
		}
		n.launch[i] = func() *server { return supervise(d, env) }
		l.servers[i].Store(n.launch[i]())
	}
	for i := range l.servers {
		wait.Until(t, "a server that is ready", l.servers[i].Load().isReady)
	}
	l.prepare()
	n.prepareSetBack(seed)
	if n.setBack == nil && n.setStore == nil {
		n.standby = n.postgres.Standby()
	}
	return n
}

// supervise starts a server, and again if it ends before it serves: on a busy machine Postgres may
// not answer it in time.
func supervise(d *deployment, env []string) (s *server) {
	wait.Until(d.t, "a server that serves", func() bool {
		if s == nil || s.Ended() {
			s = &server{&programs.Server{Process: d.start(env...)}}
			s.Expects = "permission denied" // in the middle of a restore
		}
		return s.Serves()
	})
	return s
}

// prepareSetBack takes a dump, or starts a standby, by the seed.
func (n *nemesis) prepareSetBack(seed uint64) {
	switch {
	case !long():
	case seed%4 == 2:
		standby := n.postgres.Standby()
		if n.second != nil {
			n.second.to(n.t, standby.URL)
		}
		n.setBack = func() oracle.Fault {
			wait.Until(
				n.t,
				"a standby that follows",
				func() bool {
					return n.number(`select count(*) from pg_stat_replication where state = 'streaming'`) >
						0
				},
			)
			lost := time.Now().Add(-time.Second) // it may be as much behind already
			standby.Detach()
			time.Sleep(2 * time.Second) // the standby is that far behind
			n.postgres.Kill()
			standby.Promote()
			if n.second == nil {
				n.moved.to(n.t, standby.URL)
			} else {
				time.Sleep(noticed) // it comes back when the other one is in use
				n.postgres.Start()  // as a primary that nobody should use
			}
			n.postgres = standby
			return oracle.Fault{What: "Postgres's standby promoted", SetBack: lost}
		}
	case seed%4 == 3:
		dump, lost := filepath.Join(n.t.TempDir(), "dump"), time.Now()
		pgProgram(n.t, "pg_dump", "--format=custom", "--file", dump, "--dbname", n.databaseURL)
		n.setBack = func() oracle.Fault {
			// --clean can't drop the constraints of partitions, but what is not there.
			n.exec(`drop table usage_hourly, usage_daily, audit_entries cascade`)
			pgProgram(n.t, "pg_restore", "--clean", "--if-exists", "--dbname", n.databaseURL, dump)
			return oracle.Fault{What: "Postgres restored", SetBack: lost}
		}
	}
}

// pick returns a fault that needs nothing of what others have.
func (n *nemesis) pick(taken []string) evil {
	for {
		short := time.Duration(100+n.rnd.IntN(900)) * time.Millisecond
		all := slices.Concat(
			n.ofServer(n.rnd.IntN(len(n.servers)), short),
			n.ofRedis(n.rnd.IntN(len(n.servers)), short),
			n.ofPostgres(short),
		)
		e := all[n.rnd.IntN(len(all))]
		if !slices.ContainsFunc(e.on, func(on string) bool { return slices.Contains(taken, on) }) {
			return e
		}
	}
}

func nothing() {}

// ofServer returns the faults of a server and of its way to Postgres.
func (n *nemesis) ofServer(i int, short time.Duration) []evil {
	server, way, to := fmt.Sprint("server ", i), fmt.Sprint("way to Postgres of server ", i), n.toDB[i]
	signal := func(s syscall.Signal) func() { return func() { _ = n.servers[i].Load().Signal(s) } }
	held := short
	if long() {
		held = 15 * short
	}
	all := []evil{
		// A server starts only while it reaches Postgres.
		{
			"kill -9 of " + server,
			[]string{server, way, "Postgres"},
			0,
			func() { n.servers[i].Load().Kill(); n.servers[i].Store(n.launch[i]()) },
			nothing,
		},
		{server + " stopped", []string{server}, 3 * short, signal(syscall.SIGSTOP), signal(syscall.SIGCONT)},
		{way + " cut", []string{way, server}, 0, to.cut, nothing},
		{way + " held", []string{way, server}, held, to.Lock, to.Unlock},
		{
			way + " slow",
			[]string{way, server},
			3 * short,
			func() { to.delay.Store(int64(short / 20)) },
			func() { to.delay.Store(0) },
		},
	}
	if last := len(n.servers) - 1; n.setClock != nil && i == last {
		ahead := time.Duration(n.rnd.IntN(180_000)-90_000) * time.Second
		all = append(
			all,
			evil{
				fmt.Sprintf("clock of server %d set by %v", last, ahead),
				[]string{server},
				3 * short,
				func() { n.setClock(ahead) },
				func() { n.setClock(0) },
			},
		)
	}
	return all
}

// ofRedis returns the faults of Redis and of a server's way to it.
func (n *nemesis) ofRedis(i int, short time.Duration) []evil {
	if n.sentinels != nil {
		return []evil{{"Redis failed over", []string{"Redis"}, 0, func() {
			n.sentinels.Failover(n.sentinels.Nodes[1])
			slices.Reverse(n.sentinels.Nodes)
			n.sentinels.AwaitReplica(n.sentinels.Nodes[1])
		}, nothing}}
	}
	way, to := fmt.Sprint("way to Redis of server ", i), n.toRedis[i]
	return []evil{
		{way + " cut", []string{way}, 0, to.cut, nothing},
		{way + " held", []string{way}, 3 * short, to.Lock, to.Unlock},
		{
			way + " slow",
			[]string{way},
			3 * short,
			func() { to.delay.Store(int64(short / 20)) },
			func() { to.delay.Store(0) },
		},
		{"Redis flushed", []string{"Redis"}, 0, n.redis.Flush, nothing},
		{"Redis restarted", []string{"Redis"}, short, n.redis.Stop, n.redis.Start},
		{"Redis frozen", []string{"Redis"}, short, n.redis.Pause, n.redis.Resume},
	}
}

// ofPostgres returns the faults of Postgres.
func (n *nemesis) ofPostgres(short time.Duration) []evil {
	on, end := []string{"Postgres"}, nothing
	all := []evil{
		{"Postgres restarted", on, short, n.postgres.Stop, n.postgres.Start},
		{"Postgres killed", on, short, n.postgres.Kill, n.postgres.Start},
		{"Postgres frozen", on, short, n.postgres.Pause, n.postgres.Resume},
		{"Postgres slow", on, 5 * short, func() { end = n.postgres.Slow(5 * time.Millisecond) }, func() { end() }},
	}
	if n.setBack == nil {
		all = append(all, evil{"Postgres read-only: frozen and thawed", on, 5 * short, n.freeze, n.thaw})
	}
	if n.standby != nil {
		all = append(all, evil{
			"Postgres's address led to a standby, and back",
			on,
			5 * short,
			func() { n.moved.to(n.t, n.standby.URL) },
			func() { n.moved.lead(n.t, n.postgres.URL) },
		})
	}
	if n.setStore != nil {
		ahead := time.Duration(n.rnd.IntN(121)-60) * time.Second
		all = append(
			all,
			evil{
				fmt.Sprint("clock of Postgres set by ", ahead),
				on,
				3 * short,
				func() { n.setStore(ahead) },
				func() { n.setStore(0) },
			},
		)
	}
	return all
}

// freeze freezes the database, and ends the sessions of servers.
func (n *nemesis) freeze() {
	n.asOwner(`alter database postgres set default_transaction_read_only = on`)
	n.asOwner(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'api_server'`)
}

func (n *nemesis) thaw() { n.asOwner(`alter database postgres reset default_transaction_read_only`) }

// asOwner runs a statement on the Postgres of now, in a session that takes writes.
func (n *nemesis) asOwner(statement string) {
	db, err := sql.Open("postgres", n.postgres.URL+"&default_transaction_read_only=off")
	assert.NoError(n.t, err)
	defer db.Close()
	wait.Until(n.t, statement, func() bool {
		_, err = db.Exec(statement)
		return err == nil
	}, &err)
}

// noticed is how long after a database was set back servers may serve what it has lost.
const noticed = 5 * time.Second

// rage makes faults for that long, and heals all of them.
func (n *nemesis) rage(lasts time.Duration) {
	type ongoing struct {
		evil
		started, until time.Time
	}
	var now []ongoing
	heal := func(due func(ongoing) bool) {
		now = slices.DeleteFunc(now, func(o ongoing) bool {
			if !due(o) {
				return false
			}
			o.end()
			n.out.Fault(oracle.Fault{What: o.what, Start: o.started, End: time.Now()})
			return true
		})
	}
	time.Sleep(500 * time.Millisecond) // the load before the first fault
	next, middle := time.Now(), time.Now().Add(lasts/2)
	// until the next fault begins or ends
	for over := time.Now().Add(lasts); time.Now().Before(over); time.Sleep(5 * time.Millisecond) {
		heal(func(o ongoing) bool { return !time.Now().Before(o.until) })
		if time.Now().Before(next) || len(now) > 1 {
			continue
		}
		if n.setBack != nil && time.Now().After(middle) {
			heal(func(ongoing) bool { return true })
			started := time.Now()
			f := n.setBack()
			f.Start, f.End, n.setBack = started, time.Now().Add(noticed), nil
			n.out.Fault(f)
		}
		var taken []string
		for _, o := range now {
			taken = append(taken, o.on...)
		}
		e, started := n.pick(taken), time.Now()
		e.begin()
		now = append(now, ongoing{e, started, started.Add(e.lasts)})
		next = time.Now().Add(time.Duration(n.rnd.Int64N(int64(lasts / 25))))
	}
	heal(func(ongoing) bool { return true })
	time.Sleep(time.Second) // the load after the last fault
}
