package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/server/config"
)

// Healthcheck asks the server on this machine whether it is ready, or with live whether its process
// runs, and prints the answer as one line.
func Healthcheck(ctx context.Context, out io.Writer, environ []string, live bool, timeout time.Duration) error {
	addr, err := config.ReadAdminAddr(environ)
	if err != nil {
		return err
	}
	path := "/readyz?verbose"
	if live {
		path = "/livez"
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	status, body, err := askAdmin(ctx, addr, path)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the server at %s does not answer within %v", addr, timeout)
	case err != nil:
		return fmt.Errorf(
			"the server at %s does not answer: %w; was it started with this PETSTORE_ADMIN_ADDR?",
			addr,
			err,
		)
	case live && status == http.StatusOK:
		_, err = fmt.Fprintln(out, "live")
		return err
	}
	var v verbose
	if err := json.Unmarshal(body, &v); err != nil || v.Status == "" {
		return fmt.Errorf(
			"%s answers %s to %s, not as a server of petstore does",
			addr,
			http.StatusText(status),
			path,
		)
	}
	if status != http.StatusOK {
		return fmt.Errorf("the server at %s is %s", addr, v)
	}
	_, err = fmt.Fprintln(out, v)
	return err
}

// askAdmin sends one request to the admin address. An address without a host means this machine.
func askAdmin(ctx context.Context, addr, path string) (status int, body []byte, err error) {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return 0, nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		// Leave out the URL, whose host is not the address.
		if cause := errors.Unwrap(err); cause != nil {
			err = cause
		}
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, 64<<10))
	return res.StatusCode, body, err
}

// String returns the status and the checks that are not ok, as one line.
func (v verbose) String() string {
	var notOK []string
	for _, name := range slices.Sorted(maps.Keys(v.Checks)) {
		if c := v.Checks[name]; c.Status != "ok" {
			notOK = append(notOK, name+": "+c.Message)
		}
	}
	if len(notOK) == 0 {
		return v.Status
	}
	return v.Status + " (" + strings.Join(notOK, "; ") + ")"
}
