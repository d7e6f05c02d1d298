package server

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"petstore.example/internal/loglimit"
	"petstore.example/internal/test/assert"
)

// TestServerErrorsAreOneKind: what net/http has to say differs by the client's address, and is one
// line a second nevertheless.
func TestServerErrorsAreOneKind(t *testing.T) {
	t.Parallel()
	// In simulated time the second does not end, after which the limiter reports what it
	// suppressed.
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		log := newHTTPServer(nil, loglimit.Log(zerolog.New(&out))).ErrorLog
		log.Print("http: panic serving 192.0.2.1:1111\n")
		log.Print("http: panic serving 192.0.2.2:2222\n")
		want := `{"level":"warn","error":"http: panic serving 192.0.2.1:1111","message":"HTTP server"}` + "\n"
		assert.DeepEqual(t, out.String(), want)
	})
}
