//go:build linux

package running_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	_ "github.com/lib/pq"
	"github.com/redis/go-redis/v9"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

// TestPasswordsAreChangedUnderLoad changes the servers' passwords of Postgres and Redis as
// docs/running.md says, in an order of the seed, behind HAProxy. No response is 500 or above, no
// request is lost, and the old passwords are refused afterwards. In make test, a machine that is
// busy with other tests may delay one request in four for so long that the server asks to send it
// again.
func TestPasswordsAreChangedUnderLoad(t *testing.T) {
	t.Parallel()
	seeds := 1
	if os.Getenv("PETSTORE_SOAK") != "" {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { changePasswords(t, uint64(seed)) })
	}
}

func changePasswords(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	o := newOperator(t)
	o.askForPasswords()
	counters := newGuardedRedis(t, o.home)
	databaseFile := o.file("api_server")
	first := strings.TrimSpace(programs.Read(t, databaseFile))
	f := newPair(
		t,
		programs.Path(t, "petstore"),
		"",
		"",
		"PETSTORE_DATABASE_URL_FILE="+databaseFile,
		"PETSTORE_REDIS_URL_FILE="+counters.file,
	)
	client := haproxy.start(t, f).client(t, "127.0.0.1")
	failed := &failures{RoundTripper: client.Transport}
	key := newCustomerOf(t, o.postgres.URL("postgres", "petstore"))
	l := startLoad(
		&http.Client{Transport: failed, Timeout: client.Timeout},
		key,
		50,
		lists,
		lists,
		createsOnce,
		creates,
	)
	restart := func() {
		for _, i := range random.Perm(len(f.servers)) {
			l.await(l.sent.Load() + 20 + random.Int64N(50))
			f.restart(i)
		}
	}
	changes := []func(){func() {
		o.sql("petstore", "create role api_server_2")
		assert.NoError(t, os.Rename(o.file("api_server_2"), databaseFile))
		restart()
		wait.Until(
			t,
			"nobody uses the first login",
			func() bool { return o.count("pg_stat_activity where usename = 'api_server'") == 0 },
		)
		o.sql("petstore", "drop role api_server;")
	}, func() {
		counters.acl(o.block("ACL SETUSER default '>NEW'"))
		counters.write("NEW")
		restart()
		counters.acl(o.block("ACL SETUSER default '<OLD'"))
	}}
	for _, i := range random.Perm(len(changes)) {
		changes[i]()
	}
	l.await(l.sent.Load() + 100)
	l.stop(t)
	t.Logf("%d responses of 500 and above", failed.Load())
	assert.True(
		t,
		failed.Load() <= l.unserved(4),
		failed.Load(),
		"responses of 500 and above, of",
		l.sent.Load(),
		"requests",
	)
	db, err := sql.Open("postgres", first)
	assert.NoError(t, err)
	defer db.Close()
	if err := db.PingContext(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "password authentication failed") {
		t.Errorf("the first login of Postgres: %v", err)
	}
	if err := counters.login("OLD"); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("the first password of Redis: %v", err)
	}
	assert.NoError(t, counters.login("NEW"))
}

// failures counts responses of 500 and above, and requests without one.
type failures struct {
	http.RoundTripper
	atomic.Int64
}

func (f *failures) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := f.RoundTripper.RoundTrip(r)
	if err != nil || res.StatusCode >= http.StatusInternalServerError {
		f.Add(1)
	}
	return res, err
}

// askForPasswords makes Postgres ask everybody but its administrator for a password.
func (o *operator) askForPasswords() {
	o.Helper()
	hba := filepath.Join(o.postgres.DataDir(), "pg_hba.conf")
	assert.NoError(o, os.WriteFile(hba, []byte("local all postgres trust\nlocal all all scram-sha-256\n"), 0o600))
	o.statement("petstore", "select pg_reload_conf()")
}

// count returns how many rows a table has, with a condition.
func (o *operator) count(table string) (n int) {
	o.Helper()
	db, err := sql.Open("postgres", o.postgres.URL("postgres", "petstore"))
	assert.NoError(o, err)
	defer db.Close()
	assert.NoError(o, db.QueryRowContext(o.Context(), "select count(*) from "+table).Scan(&n))
	return n
}

// guardedRedis is a Redis with the password OLD, and the servers' file with its URL.
type guardedRedis struct {
	t          testing.TB
	addr, file string
	admin      *redis.Client
}

func newGuardedRedis(t *testing.T, dir string) *guardedRedis {
	t.Helper()
	g := &guardedRedis{t: t, addr: redistest.New(t).Addr, file: filepath.Join(dir, "redis_url")}
	g.admin = redis.NewClient(&redis.Options{Addr: g.addr, PoolSize: 1, DisableIdentity: true})
	t.Cleanup(func() { _ = g.admin.Close() })
	assert.NoError(t, g.admin.ConfigSet(t.Context(), "requirepass", "OLD").Err()) // the connection stays logged in
	g.write("OLD")
	return g
}

// acl sends a line that is meant for redis-cli.
func (g *guardedRedis) acl(line string) {
	g.t.Helper()
	var args []any
	for _, word := range strings.Fields(line) {
		args = append(args, strings.Trim(word, "'"))
	}
	assert.NoError(g.t, g.admin.Do(g.t.Context(), args...).Err())
}

func (g *guardedRedis) write(password string) {
	g.t.Helper()
	assert.NoError(g.t, os.WriteFile(g.file, []byte("redis://:"+password+"@"+g.addr+"/0\n"), 0o600))
}

func (g *guardedRedis) login(password string) error {
	client := redis.NewClient(&redis.Options{Addr: g.addr, Password: password, DisableIdentity: true})
	defer client.Close()
	return client.Ping(g.t.Context()).Err()
}
