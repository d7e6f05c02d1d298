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
	Admin string // host and port of /readyz and /metrics
}

// Serve starts the server program of that path with an environment, and waits until it is ready. Its ports are free ones, unless env
// names others.
func Serve(t testing.TB, path string, env ...string) *Server {
	t.Helper()
	s := Launch(t, path, env...)
	s.AwaitReady()
	return s
}

// Launch starts a server as Serve does, and waits until it serves, which it also does while Redis is lost.
func Launch(t testing.TB, path string, env ...string) *Server {
	t.Helper()
	return LaunchCommand(t, sandbox.Command(t, path, "serve"), env...)
}

// LaunchCommand starts a server as Launch does, by a command.
func LaunchCommand(t testing.TB, cmd *exec.Cmd, env ...string) *Server {
	t.Helper()
	ports := []string{"PETSTORE_ADDR=127.0.0.1:0", "PETSTORE_ADMIN_ADDR=127.0.0.1:0"}
	s := &Server{Process: Start(t, cmd, append(ports, env...)...)}
	wait.Until(t, "a server that serves", s.serving)
	return s
}

// serving reports whether the log says where the server serves.
func (s *Server) serving() bool {
	if s.Ended() {
		s.t.Fatalf("the server has ended: %s", s.Stderr())
	}
	for line := range strings.Lines(s.Stderr()) {
		var e struct {
			Message, Addr string
			Admin         string `json:"admin_addr"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Message == "serving" {
			s.Addr, s.Admin = e.Addr, e.Admin
			return true
		}
	}
	return false
}

// AwaitReady waits until the server is ready, with all that it depends on.
func (s *Server) AwaitReady() {
	s.t.Helper()
	// Servers of two releases may count in Postgres, which is degraded.
	wait.Until(s.t, "a server that is ready", func() bool { r := s.Ready(); return r == "ready" || r == "degraded" })
}

// Ready returns the status that /readyz tells, "" if it does not answer.
func (s *Server) Ready() string {
	var r struct{ Status string }
	_, body := s.Ask("/readyz")
	_ = json.Unmarshal(body, &r)
	return r.Status
}

// Metric returns the value of a metric, with its labels as they are printed, or -1 if there is none.
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
