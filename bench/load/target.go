package load

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	cryptorand "crypto/rand"
	"errors"
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
	Method      string // GET if empty
	URL         string // http://127.0.0.1:port/path
	Header      http.Header
	RequestBody []byte // the request's body, if any
	// Keys are API keys that the requests use in turn; if empty, Header has the key.
	Keys []string
	// Writes is how many of a hundred requests are POSTs of WriteBody to the path, at random. The
	// keys are then chosen at random too.
	Writes    int
	WriteBody []byte
	// OwnKeys gives each request an Idempotency-Key of its own.
	OwnKeys bool
	// IDs, if not nil, are IDs that the requests have in turn in place of {id} in the URL and in
	// RequestBody, in which {n} is a number that differs from request to request.
	IDs *IDs
	// Clients, if not 0, is how many connections there are, of which Options.Connections have a
	// request at a time. Each always sends the same of Keys.
	Clients int

	Status int
	Body   []byte
	// IgnoreNumbers allows the numbers in the body to differ, as an ID or a wait does.
	IgnoreNumbers bool
	// RequiredHeaders are headers that the response must have.
	RequiredHeaders []string
	// Counted is how many requests each response takes from the daily limit in its RateLimit
	// header.
	Counted int64
	// MaxOther is how many responses may have another status: the requests that a new minute admits
	// while the rest is refused.
	MaxOther int64
}

// Response is what the server sent.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	Size   int64 // its size, headers included
}

// IDs are IDs for the requests of one run, and some more for the requests before and after it.
type IDs struct {
	First, Count int64
	// more counts the IDs after these that next has returned.
	more atomic.Int64
}

// next returns an ID that no other request has.
func (s *IDs) next() int64 { return s.First + s.Count - 1 + s.more.Add(1) }

// MoreIDs is how many IDs must follow those of a run.
const MoreIDs = 200

// Fetch sends the request. While the response is 503, as on a busy machine, it sends it again a
// second later, ten times at most.
func (t Target) Fetch(ctx context.Context) (r Response, err error) {
	for range 10 {
		if r, err = t.fetch(ctx); err != nil || r.Status != http.StatusServiceUnavailable || t.Status == r.Status {
			break
		}
		time.Sleep(time.Second)
	}
	return r, err
}

func (t Target) fetch(ctx context.Context) (Response, error) {
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

// Unpacked returns the content of a body, which may be compressed.
func Unpacked(body []byte) ([]byte, error) {
	if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		return body, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func (t Target) request(ctx context.Context) (*http.Request, error) {
	url, body := t.URL, t.RequestBody
	if t.IDs != nil {
		fill := strings.NewReplacer("{id}", strconv.FormatInt(t.IDs.next(), 10), "{n}", strconv.Itoa(number()))
		url, body = fill.Replace(url), []byte(fill.Replace(string(body)))
	}
	req, err := http.NewRequestWithContext(ctx, t.method(), url, bytes.NewReader(body))
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
	if t.OwnKeys {
		req.Header.Set("Idempotency-Key", cryptorand.Text())
	}
	return req, nil
}

// number returns a random number of seven digits, with room for a million more.
func number() int { return 1_000_000 + rand.IntN(8_000_000) }

func (t Target) method() string {
	if t.Method == "" {
		return http.MethodGet
	}
	return t.Method
}

func bearer(key string) string { return "Bearer " + key }

// Check fetches the response and returns an error if it is not the expected one.
func (t Target) Check(ctx context.Context) (r Response, err error) {
	for range t.MaxOther + 1 {
		if r, err = t.Fetch(ctx); err != nil {
			return r, fmt.Errorf("check the response: %w", err)
		}
		if err = t.verify(r); err == nil {
			return r, nil
		}
	}
	return r, err
}

func (t Target) verify(r Response) error {
	if r.Status != t.Status {
		return fmt.Errorf("the response is %d, want %d: %.300s", r.Status, t.Status, r.Body)
	}
	if !t.isBody(r.Body) {
		return fmt.Errorf(
			"the response has an unexpected body (%d bytes, want %d): %.300s",
			len(r.Body),
			len(t.Body),
			r.Body,
		)
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

var dayRemaining = regexp.MustCompile(`"day";r=(\d+);t=(\d+)`)

// day returns what remains of the caller's daily limit; ok is false if the response does not say.
func (r Response) day() (remaining, seconds int64, ok bool) {
	match := dayRemaining.FindStringSubmatch(r.Header.Get("RateLimit"))
	if match == nil {
		return 0, 0, false
	}
	remaining, err := strconv.ParseInt(match[1], 10, 64)
	seconds, err2 := strconv.ParseInt(match[2], 10, 64)
	return remaining, seconds, errors.Join(err, err2) == nil
}

// checkCount returns an error unless the limiter counted every request between the two responses
// once. It may also have counted up to unfinished requests whose responses came too late, and one
// in a hundred twice: a call to Redis that was too late is made once more.
func (t Target) checkCount(before, after Response, requests, unfinished int64) error {
	from, left, ok := before.day()
	to, leftAfter, okAfter := after.day()
	if !ok || !okAfter || len(t.Keys) > 1 || leftAfter > left {
		return nil // no daily limit, or one of many tenants, or a new day
	}
	used, least := from-to, t.Counted*requests
	if most := t.Counted*(requests+unfinished+2+requests/100) + t.MaxOther; used < least || used > most {
		return fmt.Errorf("%d requests were counted, want %d to %d", used, least, most)
	}
	return nil
}
