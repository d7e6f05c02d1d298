package httpfast

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// TestLargeBodyIsNotCopied: a large body whose length is declared is sent as it is written, so that
// a client that does not read it costs no copy of it.
func TestLargeBodyIsNotCopied(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("large "), 1<<16)
	received := make(chan struct{})
	defer close(received)
	written := make(chan error, 2)
	addr, _ := serve(t, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, isFast := r.Context().(*requestContext); !isFast || r.URL.Path != "/large" {
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, err := w.Write(body)
		written <- err
		if _, err = w.Write([]byte("x")); !errors.Is(err, http.ErrContentLength) {
			t.Errorf("more than was declared: %v, want http.ErrContentLength", err)
		}
		<-received // The client has all of it before the handler returns.
	})})
	c := dial(t, addr)
	get(t, c, "/")
	for fast, tries := 0, 0; fast < 3; tries++ {
		_, err := io.WriteString(c, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
		assert.NoError(t, err)
		assert.NoError(t, c.SetReadDeadline(time.Now().Add(hangTimeout)))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		assert.NoError(t, err)
		got, err := io.ReadAll(res.Body)
		// One that comes while net/http still ends the one before it is net/http's, which closes a
		// connection after more than was declared.
		if err == nil && len(got) == 0 {
			if tries == 100 {
				t.Fatal("no request took the fast path")
			}
			continue
		}
		fast++
		if err != nil || !bytes.Equal(got, body) || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" ||
			res.Close {
			t.Errorf("%d bytes, %v, %v", len(got), res.Header, err)
		}
		assert.Equal(t, <-written, nil)
		received <- struct{}{}
		get(t, c, "/")
	}
}
