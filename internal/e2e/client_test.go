package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/test/contract"
	"petstore.example/internal/test/wait"
)

// client is a tenant's HTTP client. It fails the test if a response, or a request that succeeds,
// violates the OpenAPI document.
type client struct {
	http  *http.Client
	check *checker
	// patient is whether it sends a request again after a 503 with Retry-After, when that says, for
	// a minute at most. On a busy machine a server may be without a term for a moment, or not look
	// up a key in time.
	patient bool
}

func newClient(t testing.TB) *client {
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{http: &http.Client{Transport: transport, Timeout: timeout}, check: newChecker(t)}
}

func newPatientClient(t testing.TB) *client {
	c := newClient(t)
	c.patient = true
	return c
}

const timeout = wait.Limit

// response is the result of a request. err is a failure of the connection; then only the times are
// set.
type response struct {
	err     error
	status  int
	code    string // of an error's body
	header  http.Header
	body    []byte
	windows map[string]windowState // of the RateLimit header, by name
	// unpacked is whether the body came compressed.
	unpacked  bool
	sent, got time.Time
}

type windowState struct {
	remaining int64
	reset     time.Time
}

func (a response) String() string {
	return fmt.Sprintf("%d %s %s (%v)", a.status, a.code, a.body[:min(len(a.body), 300)], a.err)
}

func (a response) took() time.Duration { return a.got.Sub(a.sent) }

// integer returns the value of a header, or -1 if it is not an integer.
func (a response) integer(header string) int64 {
	n, err := strconv.ParseInt(a.header.Get(header), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func (c *client) get(s *server, token, path string) response {
	return c.do(context.Background(), http.MethodGet, s.URL+path, token, "")
}

func (c *client) post(s *server, token, name string) response {
	return c.do(
		context.Background(),
		http.MethodPost,
		s.URL+"/pets",
		token,
		fmt.Sprintf(`{"name":%q,"categoryId":7}`, name),
	)
}

// do sends a request. headers are alternating names and values.
func (c *client) do(ctx context.Context, method, url, token, body string, headers ...string) response {
	for end := time.Now().Add(timeout); ; {
		a := c.once(ctx, method, url, token, body, headers...)
		if !c.patient || a.status != http.StatusServiceUnavailable || a.integer("Retry-After") < 0 ||
			time.Now().Add(time.Duration(a.integer("Retry-After"))*time.Second).After(end) {
			return a
		}
		time.Sleep(time.Duration(a.integer("Retry-After")) * time.Second) // as it says
	}
}

func (c *client) once(ctx context.Context, method, url, token, body string, headers ...string) (a response) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return response{err: err}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	a.sent = time.Now()
	a.exchange(c.http, req)
	a.got = time.Now()
	if a.err == nil {
		c.check.exchange(
			contract.Exchange{
				Request:      req,
				RequestBody:  []byte(body),
				Status:       a.status,
				Header:       a.header,
				Body:         a.body,
				Uncompressed: a.unpacked,
			},
		)
	}
	return a
}

// get lists with a key, "" for none. It does not check the response against the document, which
// takes more of a processor than the request.
func get(h *http.Client, url, token string) (a response) {
	req, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return response{err: err}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	a.sent = time.Now()
	a.exchange(h, req)
	a.got = time.Now()
	return a
}

func (a *response) exchange(h *http.Client, req *http.Request) {
	res, err := h.Do(req)
	if err != nil {
		a.err = err
		return
	}
	defer res.Body.Close()
	if a.body, a.err = io.ReadAll(res.Body); a.err != nil {
		return
	}
	a.status, a.header, a.windows, a.unpacked = res.StatusCode, res.Header, windowsOf(res.Header), res.Uncompressed
	if a.status >= 400 {
		var e struct{ Code string }
		_ = json.Unmarshal(a.body, &e)
		a.code = e.Code
	}
}

var rateLimitItem = regexp.MustCompile(`"(\w+)";r=(\d+);t=(\d+)`)

func windowsOf(header http.Header) map[string]windowState {
	windows := map[string]windowState{}
	for _, m := range rateLimitItem.FindAllStringSubmatch(header.Get("RateLimit"), -1) {
		remaining, _ := strconv.ParseInt(m[2], 10, 64)
		seconds, _ := strconv.ParseInt(m[3], 10, 64)
		windows[m[1]] = windowState{remaining, time.Now().Add(time.Duration(seconds) * time.Second)}
	}
	return windows
}

// sendConcurrently sends requests from concurrent callers and returns the responses.
func sendConcurrently(callers, requests int, call func(caller, request int) response) []response {
	responses := make([]response, requests)
	next := make(chan int)
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for i := range next {
				responses[i] = call(caller, i)
			}
		})
	}
	for i := range requests {
		next <- i
	}
	close(next)
	wg.Wait()
	return responses
}

// sendAtOnce sends all requests at the same time.
func sendAtOnce(requests int, call func(request int) response) []response {
	responses := make([]response, requests)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range requests {
		wg.Go(func() {
			<-begin
			responses[i] = call(i)
		})
	}
	close(begin)
	wg.Wait()
	return responses
}

// startLoad starts callers that each send one request after the other. stop ends them and returns
// all responses, in no order.
func startLoad(callers int, call func(caller, request int) response) (stop func() []response) {
	ended := make(chan struct{})
	each := make([][]response, callers)
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-ended:
					return
				default:
					each[caller] = append(each[caller], call(caller, i))
				}
				if !long() {
					time.Sleep(10 * time.Millisecond) // beside other tests
				}
			}
		})
	}
	return func() (all []response) {
		close(ended)
		wg.Wait()
		for _, some := range each {
			all = append(all, some...)
		}
		return all
	}
}

// countByCode counts responses by status and code, "200" or "429 key_banned" or "no answer".
func countByCode(responses []response) map[string]int {
	n := map[string]int{}
	for _, a := range responses {
		switch {
		case a.err != nil:
			n["no answer"]++
		case a.code != "":
			n[fmt.Sprintf("%d %s", a.status, a.code)]++
		default:
			n[strconv.Itoa(a.status)]++
		}
	}
	return n
}

// admitted counts the admitted requests: all but 401, 429, and 5xx, which are refunded.
func admitted(responses []response) (n int64) {
	for _, a := range responses {
		switch {
		case a.err != nil, a.status == http.StatusTooManyRequests, a.status == http.StatusUnauthorized, a.status >= 500:
		default:
			n++
		}
	}
	return n
}
