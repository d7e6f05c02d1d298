package e2e_test

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// server is a petstore serve on two free ports.
type server struct{ *programs.Server }

// serve starts a server on the deployment's database and Redis, and waits until it is ready.
func (d *deployment) serve(env ...string) *server {
	d.t.Helper()
	s := d.launch(env...)
	wait.Until(d.t, "a server that is ready", s.isReady)
	return s
}

// serveAll starts that many servers.
func (d *deployment) serveAll(n int, env ...string) (all []*server) {
	d.t.Helper()
	for range n {
		all = append(all, d.serve(env...))
	}
	return all
}

// patientRedis has a server wait for Redis: on a busy machine a call may take longer than the
// default timeout, and without Redis less is admitted.
const patientRedis = "PETSTORE_REDIS_TIMEOUT=5s"

// awaitRedis waits until Redis is in that state for all servers: "up" if it decides, "down" if
// Postgres does.
func awaitRedis(t testing.TB, state string, servers ...*server) {
	t.Helper()
	for _, s := range servers {
		wait.Until(t, "a server whose Redis is "+state, func() bool { return s.Ready().Redis == state })
	}
}

// launch starts a server as serve does, and waits until it serves, which it also does while Redis
// is lost.
func (d *deployment) launch(env ...string) *server {
	d.t.Helper()
	return &server{programs.Launch(d.t, d.petstore, d.serverEnv(env)...)}
}

// serverEnv returns the environment of a server: the deployment's, then that of
// PETSTORE_E2E_SERVER_ENV (NAME=value, separated by spaces), then env. The last value of a name
// wins. Of several servers every second has the HTTP fast path off.
func (d *deployment) serverEnv(env []string) []string {
	fastPath := "on"
	if d.started.Add(1)%2 == 0 {
		fastPath = "off"
	}
	return slices.Concat([]string{
		"PETSTORE_HTTP_FAST_PATH=" + fastPath,
		"PETSTORE_DATABASE_URL=" + d.serverURL, "PETSTORE_REDIS_URL=" + d.redisURL,
		"PETSTORE_ADDR=127.0.0.1:0", "PETSTORE_ADMIN_ADDR=127.0.0.1:0", "PETSTORE_ADDRESS_LIMIT=1000000",
	}, strings.Fields(os.Getenv("PETSTORE_E2E_SERVER_ENV")), env)
}

// start starts petstore serve, which may fail.
func (d *deployment) start(env ...string) *programs.Process {
	d.t.Helper()
	return programs.Start(d.t, sandbox.Command(d.t, d.petstore, "serve"), d.serverEnv(env)...)
}

func (s *server) isReady() bool { return s.Ready().Status == "ready" }

// beginStop sends SIGTERM and waits until readiness fails, or the server has ended.
func (d *deployment) beginStop(s *server) {
	d.t.Helper()
	assert.NoError(d.t, s.Signal(syscall.SIGTERM))
	wait.Until(d.t, "a server that stops", func() bool {
		select {
		case <-s.Done():
			return true
		default:
			return s.Ready().Status == "stopping"
		}
	})
}
