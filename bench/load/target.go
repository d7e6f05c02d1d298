package load

import (
	"bufio"
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Target is a request that is sent over and over, and the response that it must get.
type Target struct {
	Method      string
	URL         string // http://127.0.0.1:port/path
	Header      http.Header
	RequestBody []byte // the request's body, if any
	// Keys are API keys that the requests use in turn, or at random. If it is empty, Header has the
	// key.
	Keys   []string
	Random bool
	// Writes is how many of a hundred requests, at random, POST WriteBody to the path.
	Writes    int
	WriteBody []byte
	// CustomerKeys gives each request a new Idempotency-Key, and one of Keys at random.
	CustomerKeys bool
	// IDs, if not nil, are the IDs that replace {id} in the URL and in RequestBody. {n} in
	// RequestBody is a number that differs from request to request.
	IDs *IDs

	Status int
	Body   []byte
	// IgnoreNumbers allows numbers in the body to differ, such as an ID or a wait.
	IgnoreNumbers bool
	// RequiredHeaders are headers that the response must have.
	RequiredHeaders []string
	// MaxOther is how many responses may have another status: when a new minute begins, it admits
	// some requests, and the others are refused.
	MaxOther int64
}

// Response is the server's response.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	Size   int64 // its size, including headers
}

// IDs are IDs for the requests of one run.
type IDs struct {
	First, Count int64
	// Owners has for each ID the index of its key in Target.Keys, and each ID is used once, in
	// order. If it is nil, any ID may be used with any key. The requests before and after the run
	// use the first key and, with Owners, the IDs after those of the run.
	Owners []int
	more   atomic.Int64 // how many IDs next has returned
}

// next returns an ID for a request before or after the run, which has the first key.
func (s *IDs) next() int64 {
	if s.Owners == nil {
		return s.First
	}
	return s.First + s.Count - 1 + s.more.Add(1)
}

// MoreIDs is how many IDs must be left after those of a run with Owners.
const MoreIDs = 200

// Fetch sends the request.
func (t Target) Fetch(ctx context.Context) (Response, error) {
	req, err := t.request(ctx)
	if err != nil {
		return Response{}, err
	}
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", req.URL.Host)
	if err != nil {
		return Response{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return Response{}, err
	}
	if err := req.Write(conn); err != nil {
		return Response{}, err
	}
	var read bytes.Buffer
	buffered := bufio.NewReader(io.TeeReader(conn, &read))
	resp, err := http.ReadResponse(buffered, req)
	if err != nil {
		return Response{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return Response{resp.StatusCode, resp.Header, body, int64(read.Len() - buffered.Buffered())}, err
}

func (t Target) request(ctx context.Context) (*http.Request, error) {
	url, body := t.URL, t.RequestBody
	if t.IDs != nil {
		fill := strings.NewReplacer("{id}", strconv.FormatInt(t.IDs.next(), 10), "{n}", strconv.Itoa(number()))
		url, body = fill.Replace(url), []byte(fill.Replace(string(body)))
	}
	req, err := http.NewRequestWithContext(ctx, t.Method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = t.Header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if len(t.Keys) > 0 {
		req.Header.Set("Authorization", bearer(t.Keys[0]))
	}
	if t.CustomerKeys {
		req.Header.Set("Idempotency-Key", cryptorand.Text())
	}
	return req, nil
}

// number returns a random number of seven digits, with room for a million more.
func number() int { return 1_000_000 + rand.IntN(8_000_000) }

func bearer(key string) string { return "Bearer " + key }

// Check fetches the response and returns an error if it is not the expected one.
func (t Target) Check(ctx context.Context) (r Response, err error) {
	for range t.MaxOther + 1 {
		if r, err = t.Fetch(ctx); err == nil {
			err = t.verify(r)
		}
		if err == nil {
			break
		}
	}
	return r, err
}

func (t Target) verify(r Response) error {
	if r.Status != t.Status {
		return fmt.Errorf("the response is %d, want %d: %.300s", r.Status, t.Status, r.Body)
	}
	if !t.isBody(r.Body) {
		return fmt.Errorf("the response has an unexpected body (%d bytes, want %d): %.300s",
			len(r.Body), len(t.Body), r.Body)
	}
	for _, name := range t.RequiredHeaders {
		if r.Header.Get(name) == "" {
			return fmt.Errorf("the response lacks the header %s", name)
		}
	}
	return nil
}

var lineFeed = []byte("\n")

// anyNumber matches a number with its unit, which is singular after 1.
var anyNumber = regexp.MustCompile(`\d+( seconds?)?`)

// isBody reports whether body is the expected one, apart from a line feed at the end.
func (t Target) isBody(body []byte) bool {
	got, want := bytes.TrimSuffix(body, lineFeed), bytes.TrimSuffix(t.Body, lineFeed)
	if t.IgnoreNumbers {
		same := []byte("0")
		got, want = anyNumber.ReplaceAll(got, same), anyNumber.ReplaceAll(want, same)
	}
	return bytes.Equal(got, want)
}
