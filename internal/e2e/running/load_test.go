//go:build linux

package running_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// load is customers' requests through a proxy, until it is stopped.
type load struct {
	sent    atomic.Int64
	stopped chan struct{}
	done    sync.WaitGroup

	mu       sync.Mutex
	outcomes map[string]int
	slowest  time.Duration
}

// request is one of those that the load repeats.
type request struct {
	method, path, body string
	repeatable         bool // has an Idempotency-Key
}

var (
	lists       = request{method: http.MethodGet, path: "/pets?limit=5"}
	creates     = request{method: http.MethodPost, path: "/pets", body: `{"name":"Rex","categoryId":7}`}
	createsOnce = request{
		method:     http.MethodPost,
		path:       "/pets",
		body:       `{"name":"Rex","categoryId":7}`,
		repeatable: true,
	}
)

// startLoad starts callers that send the requests in turn, together at most rate a second.
func startLoad(client *http.Client, key string, rate int, requests ...request) *load {
	l := &load{stopped: make(chan struct{}), outcomes: map[string]int{}}
	const callers = 16
	for range callers {
		l.done.Go(func() {
			for {
				select {
				case <-l.stopped:
					return
				case <-time.After(callers * time.Second / time.Duration(rate)):
				}
				n := l.sent.Add(1)
				begun := time.Now()
				outcome := send(client, key, requests[int(n)%len(requests)], n)
				l.mu.Lock()
				l.outcomes[outcome]++
				l.slowest = max(l.slowest, time.Since(begun))
				l.mu.Unlock()
			}
		})
	}
	return l
}

// send sends a request until it has its outcome, and says which: its method and "ok", or what was
// wrong. A server may ask the client to wait, as docs/errors.md says. A response that the proxy
// makes has no X-Request-Id: then the request is lost.
func send(client *http.Client, key string, r request, n int64) string {
	for attempt := 0; ; attempt++ {
		res, body, err := try(client, key, r, n)
		switch {
		case err != nil:
			return r.method + " " + err.Error()
		case res.ProtoMajor != 2:
			return "not HTTP/2 but " + res.Proto
		case res.Header.Get("X-Request-Id") == "":
			return fmt.Sprintf("%s lost: %d %s", r.method, res.StatusCode, strings.TrimSpace(string(body)))
		case res.StatusCode == http.StatusOK, res.StatusCode == http.StatusCreated:
			return r.method + " ok"
		case attempt < 3 && res.Header.Get("Retry-After") == "1":
			time.Sleep(time.Second) // as Retry-After says
		default:
			return fmt.Sprintf("%s %d %s", r.method, res.StatusCode, strings.TrimSpace(string(body)))
		}
	}
}

func try(client *http.Client, key string, r request, n int64) (*http.Response, []byte, error) {
	req, err := http.NewRequest(r.method, base+r.path, strings.NewReader(r.body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.repeatable {
		req.Header.Set("Idempotency-Key", fmt.Sprint("load-", n))
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, body, err
}

// response is one with its body.
type response struct {
	*http.Response
	body string
}

// exchange sends a request that must have a response.
func exchange(t testing.TB, client *http.Client, req *http.Request) response {
	t.Helper()
	for attempt := 0; ; attempt++ {
		res, err := client.Do(req)
		assert.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		assert.NoError(t, err)
		// A server's own, on a busy machine; a proxy's has no request ID.
		if attempt == 3 || res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("X-Request-Id") == "" {
			return response{res, string(body)}
		}
		time.Sleep(time.Second) // as Retry-After says
		if req.GetBody != nil {
			req.Body, _ = req.GetBody()
		}
	}
}

// await waits until that many requests were sent.
func (l *load) await(requests int64) {
	for l.sent.Load() < requests {
		time.Sleep(10 * time.Millisecond) // between two looks
	}
}

// stop ends the load, and fails the test if a request failed. On a machine that is busy with other
// tests no server may be ready now and then, as the proxy says to one request in a hundred at most.
func (l *load) stop(t *testing.T) {
	t.Helper()
	close(l.stopped)
	l.done.Wait()
	failed, lost := maps.Clone(l.outcomes), int64(0)
	maps.DeleteFunc(failed, func(outcome string, n int) bool {
		if strings.Contains(outcome, " lost: 503 ") && lost+int64(n) <= l.unserved(100) {
			lost += int64(n)
			return true
		}
		return strings.HasSuffix(outcome, " ok")
	})
	t.Logf(
		"%d requests, the slowest took %v, lost: %d, failed: %v",
		l.sent.Load(),
		l.slowest.Round(time.Millisecond),
		lost,
		failed,
	)
	assert.True(t, len(failed) == 0, "requests failed")
}

// unserved is how many requests a busy machine may not serve, one of so many. In make soak it
// serves all.
func (l *load) unserved(of int64) int64 {
	if os.Getenv("PETSTORE_SOAK") != "" {
		return 0
	}
	return l.sent.Load() / of
}
