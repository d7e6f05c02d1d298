package api

import (
	"context"
	"sync"
	"time"
)

// maxDelay is the longest simulated delay. maxDelays is how many requests may wait for theirs at the same time, and maxDelaysPerTenant
// how many of one tenant: each holds a connection.
const (
	maxDelay           = 30 * time.Second
	maxDelays          = 256
	maxDelaysPerTenant = 16
)

// delays counts the requests that wait for a simulated delay.
type delays struct {
	mu  sync.Mutex
	all int
	of  map[int64]int
}

// begin reports whether another request of the tenant may wait. If it may, it must end.
func (d *delays) begin(tenantID int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all >= maxDelays || d.of[tenantID] >= maxDelaysPerTenant {
		return false
	}
	if d.of == nil {
		d.of = map[int64]int{}
	}
	d.all++
	d.of[tenantID]++
	return true
}

func (d *delays) end(tenantID int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all--
	if d.of[tenantID]--; d.of[tenantID] == 0 {
		delete(d.of, tenantID)
	}
}

// waitFor waits until the delay is over, the client disconnects or the server stops. Of a request with a body net/http learns only after the
// body is read that the client has disconnected, so its delay then goes on.
func waitFor(ctx context.Context, stopping <-chan struct{}, delay time.Duration) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-stopping:
	}
}
