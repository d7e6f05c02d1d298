package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
)

// PetstoreOptions configure a petstore server. All other settings have their defaults.
type PetstoreOptions struct {
	Program  string
	Name     string // the name of its log file
	Dir      string
	Database string   // as the superuser postgres
	Redis    string   // empty for none
	Settings []string // further ones, such as "PETSTORE_HTTP_FAST_PATH=off"
}

// StartPetstore starts a server and returns when it is ready and not degraded.
func StartPetstore(ctx context.Context, o PetstoreOptions) (*Server, error) {
	return serve(ctx, o.Dir, o.Name, func(addrs [2]string) (*exec.Cmd, error) {
		cmd := exec.Command(o.Program, "serve")
		cmd.Env = append([]string{
			"PETSTORE_DATABASE_URL=" + strings.Replace(o.Database, "//postgres@", "//bench_api@", 1),
			"PETSTORE_REDIS_URL=" + o.Redis,
			"PETSTORE_ADDR=" + addrs[0],
			"PETSTORE_ADMIN_ADDR=" + addrs[1],
			// All load comes from one address, so the default limit would refuse most requests with
			// a bad key.
			"PETSTORE_ADDRESS_LIMIT=1000000000",
			"PETSTORE_MAX_CONNECTIONS_PER_ADDRESS=20000",
			"PETSTORE_TRUSTED_PROXIES=" + proxyAddr,
			"PETSTORE_PPROF=true",
		}, o.Settings...)
		return cmd, nil
	}, Ready)
}

// Ready reports whether a petstore server is ready and not degraded.
func Ready(ctx context.Context, s *Server) bool {
	body, err := get(ctx, s.AdminURL+"/readyz")
	var readiness struct {
		Status string `json:"status"`
	}
	return err == nil && json.Unmarshal(body, &readiness) == nil && readiness.Status == "ready"
}

// Profile returns one of a petstore server's profiles, such as "profile?seconds=5" or "allocs".
func Profile(ctx context.Context, s *Server, name string) ([]byte, error) {
	return get(ctx, s.AdminURL+"/debug/pprof/"+name)
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
