package api

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// freeBody is how many bytes of each body count for no budget: no more than its connection
	// takes anyway. So ordinary bodies arrive however many long ones are in flight.
	freeBody = 4 << 10
	// tenantShares is the part of the budget that one tenant may use: one in so many.
	tenantShares = 4
)

// MinBodyBytes is the smallest budget. One tenant's share of it is one body of the greatest length.
const MinBodyBytes = tenantShares << 20

// errBodiesFull is for the operator.
var errBodiesFull = errors.New(
	"the memory for request bodies, or the tenant's share of it, is used up (PETSTORE_BODY_BYTES)",
)

// shares bound what requests hold, in all and of each tenant. They are safe for concurrent use.
type shares struct {
	total, perTenant int64

	mu      sync.Mutex
	used    int64
	tenants map[int64]int64
}

func newShares(total, perTenant int64) *shares {
	return &shares{total: total, perTenant: perTenant, tenants: map[int64]int64{}}
}

// bodyBudget bounds the memory of bodies in flight, in bytes. It is safe for concurrent use.
type bodyBudget struct {
	*shares
	// window is bodyWindow, except in tests.
	window time.Duration
}

// newBodyBudget fails if metrics, which may be nil, has the budget's metric already.
func newBodyBudget(total int64, window time.Duration, metrics prometheus.Registerer) (*bodyBudget, error) {
	b := &bodyBudget{newShares(total, total/tenantShares), cmp.Or(window, bodyWindow)}
	if metrics == nil {
		return b, nil
	}
	most := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "petstore_body_bytes_max",
		Help: "The most memory for request bodies in flight, in bytes (PETSTORE_BODY_BYTES).",
	})
	most.Set(float64(total))
	return b, errors.Join(metrics.Register(most), metrics.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_body_bytes", Help: "Memory reserved for request bodies in flight, in bytes.",
	}, b.reserved)))
}

func (s *shares) reserved() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return float64(s.used)
}

// reserve takes n for a tenant. It returns false if that would exceed the total or the tenant's
// share.
func (s *shares) reserve(tenantID, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+n > s.total || s.tenants[tenantID]+n > s.perTenant {
		return false
	}
	s.used += n
	s.tenants[tenantID] += n
	return true
}

// release gives n back.
func (s *shares) release(tenantID, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	if s.tenants[tenantID] -= n; s.tenants[tenantID] == 0 {
		delete(s.tenants, tenantID)
	}
}

// reserveRoom makes sure that room bytes are reserved for the request's body, until the request
// ends.
func (b *bodyBudget) reserveRoom(x *exchange, room int) bool {
	more := int64(room) - freeBody - x.bodyReserved
	if more <= 0 {
		return true
	}
	if !b.reserve(x.caller.Tenant.ID, more) {
		return false
	}
	x.bodyReserved += more
	return true
}

// end releases what is reserved for the request's body.
func (b *bodyBudget) end(x *exchange) {
	if x.bodyReserved > 0 {
		b.release(x.caller.Tenant.ID, x.bodyReserved)
	}
}
