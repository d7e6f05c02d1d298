package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"petstore.example/internal/envvars"
)

func newHealthcheckCommand() *cobra.Command {
	var live bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask the server on this machine whether it is ready",
		Long: `Ask /readyz at PETSTORE_ADMIN_ADDR, for containers and scripts. The answer is one line. The exit code is
0 if the server serves requests, ready or degraded, and 1 if it does not, or does not answer.
With --live ask /livez: whether the process runs.`,
		Example: `  petstore healthcheck
  petstore healthcheck --live --timeout 2s`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runHealthcheck(cmd.Context(), cmd.OutOrStdout(), os.Environ(), live, timeout)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "ask whether the process runs, not whether it serves requests")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	return cmd
}

func runHealthcheck(ctx context.Context, out io.Writer, environ []string, live bool, timeout time.Duration) error {
	// Only the address matters here: what else is wrong with the configuration the server says
	// itself.
	environ, mistakes := envvars.Clean(environ)
	if len(mistakes) > 0 {
		return errors.New(strings.Join(mistakes, "; "))
	}
	cfg := config{}
	_ = env.ParseWithOptions(&cfg, env.Options{Prefix: envPrefix, Environment: env.ToMap(environ)})
	var found problems
	if found.checkAddr("ADMIN_ADDR", cfg.AdminAddr); len(found) > 0 {
		return errors.New(found[0])
	}
	path := "/readyz?verbose"
	if live {
		path = "/livez"
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	status, body, err := askAdmin(ctx, cfg.AdminAddr, path)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the server at %s does not answer within %v", cfg.AdminAddr, timeout)
	case err != nil:
		return fmt.Errorf(
			"the server at %s does not answer: %w; was it started with this PETSTORE_ADMIN_ADDR?",
			cfg.AdminAddr,
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
			cfg.AdminAddr,
			http.StatusText(status),
			path,
		)
	}
	if status != http.StatusOK {
		return fmt.Errorf("the server at %s is %s", cfg.AdminAddr, v)
	}
	_, err = fmt.Fprintln(out, v)
	return err
}

// askAdmin sends one request to the admin address. An address without a host is this machine.
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
		// Without the URL, whose host is not the address.
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
