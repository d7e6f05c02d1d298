package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// Petstore is a running `petstore serve`.
type Petstore struct {
	*Child
	URL      string // http://127.0.0.1:port
	AdminURL string
}

// PetstoreOptions configure a petstore server. All other settings have their defaults.
type PetstoreOptions struct {
	Program  string
	Name     string // of its log file
	Dir      string
	Database string // as the superuser postgres
	Redis    string // empty for none
	// FastPathOff sets PETSTORE_HTTP_FAST_PATH=off: all requests are served by net/http.
	FastPathOff bool
	// Collector is where one trace in a hundred is sent, and those whose traceparent is sampled;
	// empty for none.
	Collector string
	LogLevel  string
}

// StartPetstore starts a server and returns when it is ready and not degraded.
func StartPetstore(ctx context.Context, o PetstoreOptions) (*Petstore, error) {
	p := &Petstore{}
	return p, onFreePorts(ctx, 2, func(addrs []string) (err error) {
		cmd := exec.Command(o.Program, "serve")
		cmd.Env = []string{
			"PETSTORE_DATABASE_URL=" + strings.Replace(o.Database, "//postgres@", "//bench_api@", 1),
			"PETSTORE_REDIS_URL=" + o.Redis,
			"PETSTORE_ADDR=" + addrs[0],
			"PETSTORE_ADMIN_ADDR=" + addrs[1],
			"PETSTORE_LOG_LEVEL=" + o.LogLevel,
			// All load comes from one address: the default would refuse most requests with a bad
			// key.
			"PETSTORE_ADDRESS_LIMIT=1000000000",
			"PETSTORE_MAX_CONNECTIONS_PER_ADDRESS=20000",
			"PETSTORE_TRUSTED_PROXIES=" + proxyAddr,
			"PETSTORE_PPROF=true",
		}
		if o.FastPathOff {
			cmd.Env = append(cmd.Env, "PETSTORE_HTTP_FAST_PATH=off")
		}
		if o.Collector != "" {
			cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+o.Collector,
				"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01")
		}
		p.URL, p.AdminURL = "http://"+addrs[0], "http://"+addrs[1]
		p.Child, err = start(ctx, o.Dir, o.Name, cmd, p.Ready)
		return err
	})
}

// Ready reports whether the server is ready and not degraded.
func (p *Petstore) Ready(ctx context.Context) bool {
	body, err := get(ctx, p.AdminURL+"/readyz")
	var readiness struct {
		Status string `json:"status"`
	}
	return err == nil && json.Unmarshal(body, &readiness) == nil && readiness.Status == "ready"
}

// Profile returns one of the server's profiles, as "profile?seconds=5" or "allocs".
func (p *Petstore) Profile(ctx context.Context, name string) ([]byte, error) {
	return get(ctx, p.AdminURL+"/debug/pprof/"+name)
}

// get returns the body of a 200.
func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", url, resp.Status, body)
	}
	return body, err
}

// StartCollector starts a collector of traces within this process, which throws them away. It
// returns its URL.
func StartCollector(ctx context.Context) (url string, stop func(context.Context) error, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{
		ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
		}),
	}
	go func() { _ = s.Serve(l) }()
	return "http://" + l.Addr().String(), func(context.Context) error { return s.Close() }, nil
}
