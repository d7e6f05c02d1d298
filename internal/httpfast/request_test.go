package httpfast

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox"
)

// requestSeeds are requests that are fast, nearly fast, and wrong.
func requestSeeds() []string {
	const host = "Host: x\r\n"
	return []string{
		"GET / HTTP/1.1\r\n" + host + "\r\n",
		"GET /v1/pets?limit=20&status=sold HTTP/1.1\r\nHost: api.example:8080\r\nAuthorization: Bearer " +
			"x\r\nx-request-id:  a b \r\nConnection: Keep-Alive\r\n\r\nGET /",
		"HEAD /a.b/~c:d-_ HTTP/1.1\r\nhOST: [::1]:80\r\naccept:\r\n\r\n",
		"GET /? HTTP/1.1\r\n" + host + "\r\n",
		"GET /a%2Fb HTTP/1.1\r\n" + host + "\r\n",
		"GET //x/y HTTP/1.1\r\n" + host + "\r\n",
		"GET /?a=%zz;b?c&&=\"<>\\^`{|} HTTP/1.1\r\n" + host + "\r\n",
		"GET /#a HTTP/1.1\r\n" + host + "\r\n",
		"GET / HTTP/1.0\r\n" + host + "\r\n",
		"GET / HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc",
		"GET / HTTP/1.1\r\n" + host + "Content-Length : 3\r\n\r\nabc",
		"GET / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "A: b\r\n c\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "A: b\nC: d\r\n\r\n",
		"GET / HTTP/1.1\n" + host + "\n",
		"GET / HTTP/1.1\r\n" + host + "A: b\rc\r\n\r\n",
		"GET / HTTP/1.1\r\nA: b\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + host + "\r\n",
		"GET / HTTP/1.1\r\n" + host + "A: 1\r\na: 2\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + ": x\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "Pragma: no-cache\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n",
		"GET  / HTTP/1.1\r\n" + host + "\r\n",
		"GET / HTTP/1.1 \r\n" + host + "\r\n",
		"GET / a HTTP/1.1\r\n" + host + "\r\n",
		"POST / HTTP/1.1\r\n" + host + "\r\n",
		"GET / HTTP/1.1\r\n" + host + "A: \x7f\x80\r\n\r\n",
	}
}

// sameAsNetHTTP reports whether b begins with a fast request. net/http must read the same from it.
func sameAsNetHTTP(t *testing.T, r *fastRequest, b []byte) bool {
	t.Helper()
	length, ok := r.read(b)
	if !ok {
		return false
	}
	rest := bufio.NewReader(bytes.NewReader(b))
	want, err := http.ReadRequest(rest)
	assert.NoError(t, err, b, "is fast, and net/http says")
	// What the server checks besides.
	if left, err := io.ReadAll(rest); err != nil || !bytes.Equal(left, b[length:]) || want.Host == "" || want.Close {
		t.Fatalf("%q: %v, left %q and %q, host %q, close %v", b, err, left, b[length:], want.Host, want.Close)
	}
	want.RemoteAddr = "192.0.2.1:80"
	got := r.forHandler(&Conn{from: want.RemoteAddr})
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q:\n got %+v %+v\nwant %+v %+v", b, got, got.URL, want, want.URL)
	}
	return true
}

// FuzzFastRequest: what the fast path reads, net/http reads too, and the same.
func FuzzFastRequest(f *testing.F) {
	for _, s := range requestSeeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { sameAsNetHTTP(t, &fastRequest{header: http.Header{}}, b) })
}

// TestGeneratedRequests is the same with generated requests: 20,000, and with PETSTORE_SOAK=1 a
// million.
func TestGeneratedRequests(t *testing.T) {
	t.Parallel()
	cases := 20_000
	if os.Getenv("PETSTORE_SOAK") != "" {
		cases = 1_000_000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	request, fast := &fastRequest{header: http.Header{}}, 0
	for range cases {
		if sameAsNetHTTP(t, request, mutated(random)) {
			fast++
		}
	}
	t.Logf("%d of %d requests were fast", fast, cases)
	assert.True(t, fast >= cases/10, "only", fast, "of", cases, "requests were fast")
}

// headerLines are what mutated adds to a request.
var headerLines = []string{
	"Accept: */*\r\n",
	"accept-encoding: gzip, br\r\n",
	"User-Agent: curl/8.5.0\r\n",
	"Authorization: Bearer pst_live_x\r\n",
	"If-None-Match: \"a\", W/\"b\"\r\n",
	"X_Y-z9:\tv \r\n",
	"Empty:\r\n",
	"Cookie: a=b; c=d\r\n",
	"Range: bytes=0-1\r\n",
	"Expect: 100-continue\r\n",
	"Upgrade: h2c\r\n",
	"Te: trailers\r\n",
	"Trailer: X\r\n",
	"Content-Length: 0\r\n",
	"Connection: keep-alive\r\n",
	"Connection: upgrade\r\n",
	"Keep-Alive: 5\r\n",
	"Host: y\r\n",
	"X: \xc3\xa4\r\n",
	"X : y\r\n",
	"X: a\r\n b\r\n",
}

// mutated returns a seed with lines added behind its first, and at most three bytes changed, added
// or removed. Half of all begin as one that is fast.
func mutated(random *rand.Rand) []byte {
	const bytesOfHTTP = "GEThost/?&=%#:;,. \t\r\n\"[]\x00\x7f\x80HTTP/1.1-_~019"
	seeds, lines := requestSeeds(), headerLines
	if random.IntN(2) == 0 {
		seeds, lines = seeds[:3], lines[:8]
	}
	first, rest, _ := strings.Cut(seeds[random.IntN(len(seeds))], "\r\n")
	for range random.IntN(3) {
		rest = lines[random.IntN(len(lines))] + rest
	}
	b := []byte(first + "\r\n" + rest)
	for range random.IntN(3) {
		i, c := random.IntN(len(b)), bytesOfHTTP[random.IntN(len(bytesOfHTTP))]
		switch random.IntN(3) {
		case 0:
			b[i] = c
		case 1:
			b = append(b[:i], append([]byte{c}, b[i:]...)...)
		case 2:
			b = append(b[:i], b[i+1:]...)
		}
	}
	return b
}

// TestFastRequest: what usual clients send is fast. Else the fast path would be of no use.
func TestFastRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		request string
		fast    bool
	}{
		{"GET /v1/pets?limit=20 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: " +
			"*/*\r\nAuthorization: Bearer pst_live_x\r\n\r\n", true},
		{"GET /v1/pets/1 HTTP/1.1\r\nHost: api.example\r\nUser-Agent: Go-http-client/1.1\r\nIf-None-Match: " +
			"\"a\"\r\nAccept-Encoding: gzip\r\n\r\n", true},
		{"HEAD /v1/pets HTTP/1.1\r\nhost: x\r\nconnection: keep-alive\r\naccept-language: de-DE,de;q=0.9\r\n\r\n",
			true},
		{"GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false},
		{"GET /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", false},
		{"GET /v1/pets HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 2) + "\r\n", false},
		{"DELETE /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"GET /v1/pets HTTP/1.1\r\nHost: x\r\n", false},
	} {
		r := fastRequest{header: http.Header{}}
		if _, ok := r.read([]byte(tt.request)); ok != tt.fast {
			t.Errorf("%q: fast %v", tt.request, ok)
		}
	}
}
