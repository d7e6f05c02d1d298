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

	"petstore.example/internal/contract"
)

// client is a customer's HTTP client. It fails the test when an answer, or a request that succeeds, is not as the document
// says.
type client struct {
	http  *http.Client
	check *checker
}

func newClient(t testing.TB) *client {
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{&http.Client{Transport: transport, Timeout: timeout}, newChecker(t)}
}

const timeout = 20 * time.Second

// answer is what a request came to. err is of the connection; then all but the times is zero.
type answer struct {
	err       error
	status    int
	code      string // of an error's body
	header    http.Header
	body      []byte
	windows   map[string]windowState // of the RateLimit header, by name
	sent, got time.Time
}

type windowState struct {
	remaining int64
	reset     time.Time
}

func (a answer) String() string {
	return fmt.Sprintf("%d %s %s (%v)", a.status, a.code, a.body[:min(len(a.body), 300)], a.err)
}

func (a answer) took() time.Duration { return a.got.Sub(a.sent) }

// integer returns a header's value, -1 when it is not an integer.
func (a answer) integer(header string) int64 {
	n, err := strconv.ParseInt(a.header.Get(header), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func (c *client) get(s *server, token, path string) answer {
	return c.do(context.Background(), http.MethodGet, s.url+path, token, "")
}

func (c *client) post(s *server, token, name string) answer {
	return c.do(context.Background(), http.MethodPost, s.url+"/pets", token, fmt.Sprintf(`{"name":%q,"categoryId":7}`, name))
}

// do sends a request with headers, given as name and value in turn.
func (c *client) do(ctx context.Context, method, url, token, body string, headers ...string) (a answer) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
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
		c.check.exchange(contract.Exchange{Request: req, RequestBody: []byte(body), Status: a.status, Header: a.header, Body: a.body})
	}
	return a
}

func (a *answer) exchange(h *http.Client, req *http.Request) {
	res, err := h.Do(req)
	if err != nil {
		a.err = err
		return
	}
	defer res.Body.Close()
	if a.body, a.err = io.ReadAll(res.Body); a.err != nil {
		return
	}
	a.status, a.header, a.windows = res.StatusCode, res.Header, windowsOf(res.Header)
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

// crowd has callers send requests at the same time until they have sent all of them, and returns the answers.
func crowd(callers, requests int, call func(caller, request int) answer) []answer {
	answers := make([]answer, requests)
	next := make(chan int)
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for i := range next {
				answers[i] = call(caller, i)
			}
		})
	}
	for i := range requests {
		next <- i
	}
	close(next)
	wg.Wait()
	return answers
}

// atOnce sends requests all at the same time.
func atOnce(requests int, call func(request int) answer) []answer {
	answers := make([]answer, requests)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range requests {
		wg.Go(func() {
			<-begin
			answers[i] = call(i)
		})
	}
	close(begin)
	wg.Wait()
	return answers
}

// load has callers send requests, one after the other, until stop is called, which returns all answers in no order.
func load(callers int, call func(caller, request int) answer) (stop func() []answer) {
	ended := make(chan struct{})
	each := make([][]answer, callers)
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
			}
		})
	}
	return func() (all []answer) {
		close(ended)
		wg.Wait()
		for _, some := range each {
			all = append(all, some...)
		}
		return all
	}
}

// tally counts answers by status and code, "200" or "429 key_banned" or "no answer".
func tally(answers []answer) map[string]int {
	n := map[string]int{}
	for _, a := range answers {
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

// admitted counts the answers that were let in: all but 401, 429, and 5xx, which is given back.
func admitted(answers []answer) (n int64) {
	for _, a := range answers {
		switch {
		case a.err != nil, a.status == http.StatusTooManyRequests, a.status == http.StatusUnauthorized, a.status >= 500:
		default:
			n++
		}
	}
	return n
}
