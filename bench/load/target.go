package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// Target is one request, to be sent again and again, and the answer that it must get.
type Target struct {
	Method string // GET where it is empty
	URL    string // http://127.0.0.1:port/path
	Header http.Header
	Send   []byte // the request's body, if any
	// Keys are API keys that the requests take in turn; none for what Header says.
	Keys []string

	Status int
	Body   []byte
	// Loose lets the numbers in the body differ, as an id or a wait does.
	Loose bool
	// Wants names headers that the answer must have.
	Wants []string
	// Costs is how many requests each answer takes from the day that its RateLimit header tells.
	Costs int64
	// Spare is how many answers may be of another kind: those that a new minute lets in, although the rest is refused.
	Spare int64
}

// Answer is what the server answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Wire   int64 // its size with the header
}

// Fetch sends the request once.
func (t Target) Fetch(ctx context.Context) (Answer, error) {
	req, err := t.request(ctx)
	if err != nil {
		return Answer{}, err
	}
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", req.URL.Host)
	if err != nil {
		return Answer{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return Answer{}, err
	}
	if err := req.Write(conn); err != nil {
		return Answer{}, err
	}
	counted := &countingReader{from: conn}
	buffered := bufio.NewReader(counted)
	resp, err := http.ReadResponse(buffered, req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, body, counted.n - int64(buffered.Buffered())}, err
}

func (t Target) request(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, t.method(), t.URL, bytes.NewReader(t.Send))
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
	return req, nil
}

func (t Target) method() string {
	if t.Method == "" {
		return http.MethodGet
	}
	return t.Method
}

func bearer(key string) string { return "Bearer " + key }

// check returns the answer, or an error unless it is the right one.
func (t Target) check(ctx context.Context) (a Answer, err error) {
	for range t.Spare + 1 {
		if a, err = t.Fetch(ctx); err != nil {
			return a, fmt.Errorf("check the answer: %w", err)
		}
		if err = t.judge(a); err == nil {
			return a, nil
		}
	}
	return a, err
}

func (t Target) judge(a Answer) error {
	if a.Status != t.Status {
		return fmt.Errorf("the answer is %d, want %d: %.300s", a.Status, t.Status, a.Body)
	}
	if !t.isBody(a.Body) {
		return fmt.Errorf("the answer's body is not the one wanted (%d bytes, want %d): %.300s", len(a.Body), len(t.Body), a.Body)
	}
	for _, name := range t.Wants {
		if a.Header.Get(name) == "" {
			return fmt.Errorf("the answer lacks the header %s", name)
		}
	}
	return nil
}

var lineFeed = []byte("\n")

// number is one in a text, with the unit that has another form after 1.
var number = regexp.MustCompile(`\d+( seconds?)?`)

// isBody tells whether it is the body wanted; one may end in a line feed that the other lacks.
func (t Target) isBody(body []byte) bool {
	got, want := bytes.TrimSuffix(body, lineFeed), bytes.TrimSuffix(t.Body, lineFeed)
	if t.Loose {
		same := []byte("0")
		got, want = number.ReplaceAll(got, same), number.ReplaceAll(want, same)
	}
	return bytes.Equal(got, want)
}

var dayRemaining = regexp.MustCompile(`"day";r=(\d+);t=(\d+)`)

// day reads what an answer says to remain of the caller's day; ok is false when it says nothing.
func (a Answer) day() (remaining, seconds int64, ok bool) {
	match := dayRemaining.FindStringSubmatch(a.Header.Get("RateLimit"))
	if match == nil {
		return 0, 0, false
	}
	remaining, err := strconv.ParseInt(match[1], 10, 64)
	seconds, err2 := strconv.ParseInt(match[2], 10, 64)
	return remaining, seconds, errors.Join(err, err2) == nil
}

// checkCount returns an error unless the limiter counted every request that was answered between the two answers, once. Up to
// unfinished further ones may have been counted whose answers came too late.
func (t Target) checkCount(before, after Answer, requests, unfinished int64) error {
	from, left, ok := before.day()
	to, leftAfter, okAfter := after.day()
	if !ok || !okAfter || len(t.Keys) > 1 || leftAfter > left {
		return nil // No day is told, or it is that of one of many tenants, or another one began.
	}
	used, least := from-to, t.Costs*requests
	if most := t.Costs*(requests+unfinished+1) + t.Spare; used < least || used > most {
		return fmt.Errorf("%d requests were counted, want %d to %d", used, least, most)
	}
	return nil
}

type countingReader struct {
	from io.Reader
	n    int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.n += int64(n)
	return n, err
}
