package api

import (
	"cmp"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/limits"
)

const (
	// freeBody is how many bytes of each body count for no budget: no more than its connection
	// takes anyway. So ordinary bodies arrive however many long ones are in flight.
	freeBody = 4 << 10
	// holderShares is the part of the budget that one holder may use: one in so many.
	holderShares = 4
)

// MinBodyBytes is the smallest budget. One holder's share of it is one body of the greatest length.
const MinBodyBytes = holderShares << 20

// errBodiesFull is for the operator.
var errBodiesFull = errors.New(
	"the memory for request bodies, or the share of a tenant or an address, is used up (PETSTORE_BODY_BYTES)",
)

// holder is whose a request is: a tenant, or the network of a client without a valid key.
type holder struct {
	tenantID int64
	network  netip.Prefix
}

// shares bound what requests hold, in all and of each holder. They are safe for concurrent use.
type shares struct {
	total, perHolder int64

	mu      sync.Mutex
	used    int64
	holders map[holder]int64
}

func newShares(total, perHolder int64) *shares {
	return &shares{total: total, perHolder: perHolder, holders: map[holder]int64{}}
}

// bodyBudget bounds the memory of bodies in flight, in bytes. It is safe for concurrent use.
type bodyBudget struct {
	*shares
	// address returns the client's.
	address func(*exchange) netip.Addr
	// window is bodyWindow, except in tests.
	window time.Duration
}

// newBodyBudget fails if the metrics, which may be nil, have the budget's metric already.
func newBodyBudget(c *Config) (*bodyBudget, error) {
	total, metrics := c.BodyBytes, c.Metrics
	b := &bodyBudget{newShares(total, total/holderShares), c.address, cmp.Or(c.bodyWindow, bodyWindow)}
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

// reserve takes n for a holder. It returns false if that would exceed the total or the holder's
// share.
func (s *shares) reserve(of holder, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+n > s.total || s.holders[of]+n > s.perHolder {
		return false
	}
	s.used += n
	s.holders[of] += n
	return true
}

// release gives n back.
func (s *shares) release(of holder, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	if s.holders[of] -= n; s.holders[of] == 0 {
		delete(s.holders, of)
	}
}

// reserveRoom makes sure that room bytes are reserved for the request's body, until the request
// ends.
func (b *bodyBudget) reserveRoom(x *exchange, room int) bool {
	more := int64(room) - freeBody - x.bodyReserved
	if more <= 0 {
		return true
	}
	if x.bodyReserved == 0 {
		x.bodyHolder = b.holderOf(x)
	}
	if !b.reserve(x.bodyHolder, more) {
		return false
	}
	x.bodyReserved += more
	return true
}

// holderOf returns whose budget a body counts for. Forms of the account come without a caller.
func (b *bodyBudget) holderOf(x *exchange) holder {
	if x.caller != nil {
		return holder{tenantID: x.caller.Tenant.ID}
	}
	return holder{network: limits.NetworkOf(b.address(x))}
}

// end releases what is reserved for the request's body.
func (b *bodyBudget) end(x *exchange) {
	if x.bodyReserved > 0 {
		b.release(x.bodyHolder, x.bodyReserved)
	}
}
