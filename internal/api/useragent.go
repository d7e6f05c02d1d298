package api

import (
	"net/http"
	"strings"
)

const (
	// maxUserAgent is how many bytes of a User-Agent are logged.
	maxUserAgent = 160
	// secretLength is how long a run of letters and digits must be to count as a possible secret. A
	// key without its prefix has 36.
	secretLength = 24
)

// userAgent returns the request's User-Agent for the log: its beginning, in printable ASCII,
// without anything that may be a secret. The client chose it freely, so it may be used only for the
// log.
func userAgent(h http.Header) string {
	values := h["User-Agent"]
	if len(values) == 0 || values[0] == "" {
		return ""
	}
	text := values[0][:min(len(values[0]), maxUserAgent)]
	if lower := strings.ToLower(text); strings.Contains(lower, "pst_") || hasSecret(text) {
		return "[redacted]"
	}
	return strings.Map(printable, text)
}

// hasSecret reports whether the text has a run of letters and digits that is long enough to be a
// secret.
func hasSecret(text string) bool {
	run := 0
	for i := range len(text) {
		c := text[i]
		if letter := 'a' <= c|0x20 && c|0x20 <= 'z'; !letter && (c < '0' || c > '9') {
			run = 0
		} else if run++; run >= secretLength {
			return true
		}
	}
	return false
}

func printable(c rune) rune {
	if c < ' ' || c > '~' {
		return '?'
	}
	return c
}
