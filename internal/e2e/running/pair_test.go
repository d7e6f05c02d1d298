//go:build linux

package running_test

import (
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(programs.Suite{M: storetest.Suite{M: m}}) }

// drainDelay is that of docs/running.md.
const drainDelay = "5s"

// pair are two servers with fixed addresses, which a proxy knows.
type pair struct {
	t       testing.TB
	program string // of the servers that are started next
	env     []string
	// hosts, port and adminPort are where the servers listen: on addresses of their own, as on two
	// machines.
	hosts           [2]string
	port, adminPort string
	servers         [2]*programs.Server
}

// newPair starts two servers of that program on a database and a Redis. env is added to their
// environment; without a URL it has a file with one.
func newPair(t testing.TB, program, databaseURL, redisURL string, env ...string) *pair {
	t.Helper()
	f := &pair{t: t, program: program, env: append([]string{
		"PETSTORE_TRUSTED_PROXIES=127.0.0.1",
		"PETSTORE_DRAIN_DELAY=" + drainDelay, "PETSTORE_BASE_URL=https://api.example.com/v1",
	}, env...)}
	for name, url := range map[string]string{"PETSTORE_DATABASE_URL=": databaseURL, "PETSTORE_REDIS_URL=": redisURL} {
		if url != "" {
			f.env = append(f.env, name+url)
		}
	}
	f.hosts = [2]string{"127.0.0.11", "127.0.0.12"}
	f.port, f.adminPort = freePort(t), freePort(t)
	for i := range f.servers {
		f.start(i)
	}
	return f
}

// start starts a server, and waits until it is ready.
func (f *pair) start(i int) {
	f.t.Helper()
	f.servers[i] = programs.Serve(f.t, f.program, append(
		slices.Clone(f.env),
		"PETSTORE_ADDR="+net.JoinHostPort(
			f.hosts[i],
			f.port,
		),
		"PETSTORE_ADMIN_ADDR="+net.JoinHostPort(f.hosts[i], f.adminPort),
	)...)
	f.servers[i].Chatty = f.program != programs.Path(f.t, "petstore") // the last release
}

// restart stops a server as an operator does, and starts it.
func (f *pair) restart(i int) {
	f.t.Helper()
	assert.Equal(f.t, f.servers[i].Stop(syscall.SIGTERM), 0, "server", i+1, "exit code")
	f.start(i)
}

// freePort returns a port that is free on all addresses of this machine, and that the kernel gives
// to nobody.
func freePort(t testing.TB) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(10_000 + rand.IntN(20_000))
		if l, err := net.Listen("tcp", ":"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return ""
}

// newCustomer makes a tenant whose limits no test reaches, and returns its key.
func newCustomer(t testing.TB, database *storetest.Database) string {
	t.Helper()
	return newCustomerOf(t, database.SupportURL)
}

// newCustomerOf makes one in the database of a login of staff.
func newCustomerOf(t testing.TB, url string) string {
	t.Helper()
	staff := storetest.Open(t, url, store.Options{MaxConns: 2})
	own := &plans.Quota{PerMinute: 10_000_000, PerDay: 1_000_000_000}
	return storetest.IssueKey(t, staff, tenancy.NewTenant{Name: "acme", Plan: plans.Enterprise, Own: own})
}

// newRedis starts a Redis and returns its URL.
func newRedis(t testing.TB) string { return redistest.New(t).URL }
