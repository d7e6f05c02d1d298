package servers

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// StartCollector starts a collector of traces within this process, which throws them away. It returns its URL.
func StartCollector(ctx context.Context) (url string, stop func(context.Context) error, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	})}
	go func() { _ = s.Serve(l) }()
	return "http://" + l.Addr().String(), func(context.Context) error { return s.Close() }, nil
}
