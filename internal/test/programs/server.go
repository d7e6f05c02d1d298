package programs

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// Server is a petstore serve.
type Server struct {
	*Process
	Addr  string // host and port of the API
	URL   string // base URL of the API: it ends in /v1
	Admin string // host and port of /readyz and /metrics
}

// Serve starts the server program at that path with an environment, and waits until it is ready. It
// uses free ports, unless env names others.
func Serve(t testing.TB, path string, env ...string) *Server {
	t.Helper()
	s := Launch(t, path, env...)
	s.AwaitReady()
	return s
}

// Launch starts a server as Serve does, and waits until it serves. A server serves even while Redis
// is lost.
func Launch(t testing.TB, path string, env ...string) *Server {
	t.Helper()
	return LaunchCommand(t, sandbox.Command(t, path, "serve"), env...)
}

// LaunchCommand is Launch with a command.
func LaunchCommand(t testing.TB, cmd *exec.Cmd, env ...string) *Server {
	t.Helper()
	ports := []string{"PETSTORE_ADDR=127.0.0.1:0", "PETSTORE_ADMIN_ADDR=127.0.0.1:0"}
	return ServerOf(Start(t, cmd, append(ports, env...)...))
}

// ServerOf waits until a started process serves, and fails the test if the process ends before.
func ServerOf(p *Process) *Server {
	p.t.Helper()
	s := &Server{Process: p}
	wait.Until(p.t, "a server that serves", func() bool {
		if s.Ended() {
			p.t.Fatalf("the server has ended: %s", s.Stderr())
		}
		return s.Serves()
	})
	return s
}

// Serves reports whether the server serves. Then it sets the server's addresses from the log.
func (s *Server) Serves() bool {
	for line := range strings.Lines(s.Stderr()) {
		var e struct {
			Message, Addr string
			Admin         string `json:"admin_addr"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Message == "serving" {
			s.Addr, s.Admin, s.URL = e.Addr, e.Admin, "http://"+e.Addr+"/v1"
			return true
		}
	}
	return false
}

// AwaitReady waits until the server and everything that it depends on are ready.
func (s *Server) AwaitReady() {
	s.t.Helper()
	// Servers of two releases may be degraded, because together they may count in Postgres.
	wait.Until(
		s.t,
		"a server that is ready",
		func() bool { r := s.Ready().Status; return r == "ready" || r == "degraded" },
	)
}

// Readiness is the content of /readyz, with the status of the response.
type Readiness struct {
	HTTP                    int
	Status, Database, Redis string
}

// Ready returns the content of /readyz, zero if it can't be read.
func (s *Server) Ready() (r Readiness) {
	status, body := s.Ask("/readyz")
	_ = json.Unmarshal(body, &r)
	r.HTTP = status
	return r
}

// Metric returns the value of a metric, or -1 if there is none. name includes the labels as they
// are printed.
func (s *Server) Metric(name string) float64 {
	_, body := s.Ask("/metrics")
	for line := range strings.Lines(string(body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
				return v
			}
		}
	}
	return -1
}

// Ask sends a request to the admin address.
func (s *Server) Ask(path string) (status int, body []byte) {
	client := &http.Client{Timeout: wait.Limit, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + s.Admin + path)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	body, _ = io.ReadAll(res.Body)
	return res.StatusCode, body
}
