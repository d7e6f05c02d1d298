package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const answer = "[1,2,3]"

// brief is wrk's shortest run.
var brief = Options{Connections: 2, Threads: 1, Duration: time.Second}

func wrk(t *testing.T) *Wrk {
	t.Helper()
	w, err := FindWrk(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func serve(t *testing.T, h http.HandlerFunc) Target {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	header := http.Header{"Authorization": {`Bearer "quoted\key"`}}
	return Target{URL: server.URL + "/v1/pets?limit=20", Header: header, Status: http.StatusOK, Body: []byte(answer)}
}

func TestRunMeasures(t *testing.T) {
	t.Parallel()
	var wrong atomic.Int64
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != `Bearer "quoted\key"` || r.URL.String() != "/v1/pets?limit=20" {
			wrong.Add(1)
		}
		_, _ = io.WriteString(w, answer)
	})
	got, err := wrk(t).Run(t.Context(), target, brief)
	if err != nil {
		t.Fatal(err)
	}
	if got.Requests == 0 || got.Elapsed < 900*time.Millisecond || got.P50 <= 0 || got.P99 < got.P50 {
		t.Errorf("implausible result: %+v", got)
	}
	if wrong.Load() > 0 {
		t.Errorf("%d requests were not as asked for", wrong.Load())
	}
}

// Answers that are right when they are checked, and wrong in between.
func TestRunFailsOnWrongAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reply func(http.ResponseWriter)
		want  string
	}{
		"refused": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, "status of 400 or more"},
		"empty":   {func(http.ResponseWriter) {}, "bytes on average"},
		"longer":  {func(w http.ResponseWriter) { _, _ = io.WriteString(w, strings.Repeat(answer, 3)) }, "bytes on average"},
		"no answer": {func(w http.ResponseWriter) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				// The checks before and after a run name a user agent, wrk does not.
				if r.Header.Get("User-Agent") != "" {
					_, _ = io.WriteString(w, answer)
					return
				}
				test.reply(w)
			})
			_, err := wrk(t).Run(t.Context(), target, brief)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}

func TestRunFailsOnWrongFirstAnswer(t *testing.T) {
	t.Parallel()
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[1,2,4]") })
	if _, err := (&Wrk{"/nowhere"}).Run(t.Context(), target, brief); err == nil || !strings.Contains(err.Error(), "body") {
		t.Errorf("error %v, want one about the body", err)
	}
}

func TestCheckAllowsUnfinishedAnswers(t *testing.T) {
	t.Parallel()
	s := summary{Requests: 100, Bytes: 100*1500 + 64*1500}
	if err := s.check(1500, 1500, 64); err != nil {
		t.Error(err)
	}
}
