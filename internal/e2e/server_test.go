package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// server is a petstore serve on two free ports.
type server struct {
	*process
	url   string // ends in /v1
	admin string
}

// serve starts a server on the deployment's database and Redis, and waits until it is ready.
func (d *deployment) serve(env ...string) *server {
	d.t.Helper()
	s := d.launch(env...)
	s.awaitReady(d.t)
	return s
}

// launch starts a server as serve does, and waits until it serves, which it also does while Redis is lost.
func (d *deployment) launch(env ...string) *server {
	d.t.Helper()
	s := &server{process: start(d.t, sandbox.Command(d.t, d.petstore, "serve"), d.serverEnv(env)...)}
	s.awaitServing(d.t)
	return s
}

// serverEnv returns the environment of a server: the deployment's, then that of PETSTORE_E2E_SERVER_ENV (NAME=value, separated by
// spaces), then env. The last value of a name wins. Of several servers every second has the HTTP fast path off.
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

// host returns the host and port of the API.
func (s *server) host() string {
	return strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/v1")
}

func (s *server) await(t testing.TB) {
	t.Helper()
	s.awaitServing(t)
	s.awaitReady(t)
}

func (s *server) awaitServing(t testing.TB) {
	t.Helper()
	wait.Until(t, "a server that serves", func() bool {
		select {
		case <-s.Done():
			t.Fatalf("the server has ended: %s", s.stderr())
		default:
		}
		return s.serves()
	})
}

// serves reports whether the server says that it serves, and notes its addresses.
func (s *server) serves() bool {
	for line := range strings.Lines(s.stderr()) {
		var e struct{ Message, Addr, AdminAddr string }
		if json.Unmarshal([]byte(strings.ReplaceAll(line, "admin_addr", "adminaddr")), &e) == nil && e.Message == "serving" {
			s.url, s.admin = "http://"+e.Addr+"/v1", "http://"+e.AdminAddr
			return true
		}
	}
	return false
}

func (s *server) awaitReady(t testing.TB) {
	t.Helper()
	wait.Until(t, "a server that is ready", func() bool { return s.ready().Status == "ready" })
}

// beginStop sends SIGTERM and waits until readiness fails.
func (s *server) beginStop() {
	s.t.Helper()
	if err := s.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	wait.Until(s.t, "a server that stops", func() bool { return s.ready().Status == "stopping" })
}

type readiness struct {
	HTTP                    int
	Status, Database, Redis string
}

// ready returns the response of /readyz. Fields that cannot be read are zero.
func (s *server) ready() readiness {
	var r readiness
	status, body := s.ask("/readyz")
	_ = json.Unmarshal(body, &r)
	r.HTTP = status
	return r
}

// metric returns the value of a metric without labels, or -1 if there is none.
func (s *server) metric(name string) float64 {
	_, body := s.ask("/metrics")
	for line := range strings.Lines(string(body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err == nil {
				return v
			}
		}
	}
	return -1
}

func (s *server) ask(path string) (status int, body []byte) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(s.admin + path)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	body, _ = io.ReadAll(res.Body)
	return res.StatusCode, body
}
