package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
)

// Petstore is a running `petstore serve`.
type Petstore struct {
	*Child
	URL      string // http://127.0.0.1:port
	AdminURL string
}

// PetstoreOptions say which petstore to start. What they don't name has the default of production.
type PetstoreOptions struct {
	Program  string
	Name     string // of its log
	Dir      string
	Database string
	Redis    string // empty for none
	LogLevel string
}

// StartPetstore starts a server and returns when it is ready, not merely degraded.
func StartPetstore(ctx context.Context, o PetstoreOptions) (*Petstore, error) {
	p := &Petstore{}
	return p, anywhere(ctx, 2, func(addrs []string) (err error) {
		cmd := exec.Command(o.Program, "serve")
		cmd.Env = []string{
			"PETSTORE_DATABASE_URL=" + o.Database,
			"PETSTORE_REDIS_URL=" + o.Redis,
			"PETSTORE_ADDR=" + addrs[0],
			"PETSTORE_ADMIN_ADDR=" + addrs[1],
			"PETSTORE_LOG_LEVEL=" + o.LogLevel,
			// All load comes from one address; production's limit would refuse all but the first requests with a bad key.
			"PETSTORE_ADDRESS_LIMIT=1000000000",
			"PETSTORE_PPROF=true",
		}
		p.URL, p.AdminURL = "http://"+addrs[0], "http://"+addrs[1]
		p.Child, err = start(ctx, o.Dir, o.Name, cmd, p.Ready)
		return err
	})
}

// Ready tells whether the server is ready, and not merely degraded.
func (p *Petstore) Ready(ctx context.Context) bool {
	body, err := get(ctx, p.AdminURL+"/readyz")
	var readiness struct {
		Status string `json:"status"`
	}
	return err == nil && json.Unmarshal(body, &readiness) == nil && readiness.Status == "ready"
}

// Profile returns one of the server's profiles: "profile?seconds=5" for processor time, "allocs" for memory.
func (p *Petstore) Profile(ctx context.Context, name string) ([]byte, error) {
	text, err := get(ctx, p.AdminURL+"/debug/pprof/"+name)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	return text, nil
}
