package client

import (
	"log/slog"
	"net/http"
	"sync"
)

// Warning is a header by which the API says that something will stop to work, or has no effect.
type Warning struct {
	// Header is X-Key-Expires, Deprecation or X-Ignored-Parameters, and Value what it says.
	Header, Value string
	// Method and Path are the request's, without the query.
	Method, Path string
}

var warningHeaders = []string{"X-Key-Expires", "Deprecation", "X-Ignored-Parameters"}

// warnings passes on each header and value once.
type warnings struct {
	warn func(Warning)
	seen sync.Map
}

func (w *warnings) read(cl *call, path string, h http.Header) {
	for _, name := range warningHeaders {
		value := h.Get(name)
		if value == "" {
			continue
		}
		if _, seen := w.seen.LoadOrStore(name+value, true); !seen {
			w.warn(Warning{name, value, cl.method, path})
		}
	}
}

func logWarning(w Warning) {
	slog.Warn("petstore: the API warns", "header", w.Header, "value", w.Value, "method", w.Method, "path", w.Path)
}
