package api

import (
	"cmp"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/api/shares"
)

const (
	// freeBody is how many bytes of each body do not count: the connection needs as many anyway. So
	// short bodies are accepted, however many long ones are in flight.
	freeBody = 4 << 10
	// holderShares is how many holders' shares are the whole budget.
	holderShares = 4
	// In each bodyWindow at least bytesPerWindow of a body, or its end, must arrive: some 3 KiB per
	// second, as fast as a phone with poor reception.
	bodyWindow     = 10 * time.Second
	bytesPerWindow = 32 << 10
)

// MinBodyBytes is the smallest budget. A holder's share of it is one body of the maximum length.
const MinBodyBytes = holderShares << 20

// errBodiesFull is only logged.
var errBodiesFull = errors.New(
	"the memory for request bodies, or the share of a tenant or an address, is used up (PETSTORE_BODY_BYTES)",
)

// bodyBudget bounds the memory of bodies in flight, in bytes. It is safe for concurrent use.
type bodyBudget struct {
	*shares.Shares
	// window is bodyWindow, except in tests.
	window time.Duration
}

// newBodyBudget registers the budget's metrics with to, unless to is nil. It fails if one is
// already registered.
func newBodyBudget(total int64, window time.Duration, to prometheus.Registerer) (*bodyBudget, error) {
	b := &bodyBudget{shares.New(total, total/holderShares), cmp.Or(window, bodyWindow)}
	if to == nil {
		return b, nil
	}
	most := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "petstore_body_bytes_max",
		Help: "The most memory for request bodies in flight, in bytes (PETSTORE_BODY_BYTES).",
	})
	most.Set(float64(total))
	return b, errors.Join(to.Register(most), to.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "petstore_body_bytes", Help: "Memory reserved for request bodies in flight, in bytes.",
	}, b.Reserved)))
}

// bodyShare is a request's part of the budget.
type bodyShare struct {
	holder   shares.Holder
	reserved int64
}

// reserveRoom makes sure that room bytes are reserved for a body. The first call sets the holder.
func (b *bodyBudget) reserveRoom(s *bodyShare, of func() shares.Holder, room int) bool {
	more := int64(room) - freeBody - s.reserved
	if more <= 0 {
		return true
	}
	if s.reserved == 0 {
		s.holder = of()
	}
	if !b.Reserve(s.holder, more) {
		return false
	}
	s.reserved += more
	return true
}

// end releases what is reserved for a body.
func (b *bodyBudget) end(s *bodyShare) {
	if s.reserved > 0 {
		b.Release(s.holder, s.reserved)
	}
}
