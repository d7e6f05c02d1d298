package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/rs/xid"
)

const maxRequestID = 128

// requestID returns the client's X-Request-Id if it is valid, otherwise a new one.
func requestID(h http.Header, now time.Time) string {
	if values := h["X-Request-Id"]; len(values) == 1 && isRequestID(values[0]) {
		return values[0]
	}
	return xid.NewWithTime(now).String()
}

// isRequestID accepts 1 to 128 letters, digits and -._~:/+=@. It rejects anything that contains an
// API key, because the ID is logged.
func isRequestID(id string) bool {
	if len(id) == 0 || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		c := id[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("-._~:/+=@", c) < 0 {
			return false
		}
	}
	lower := strings.ToLower(id)
	return !strings.Contains(lower, "pst_live_") && !strings.Contains(lower, "pst_test_")
}
