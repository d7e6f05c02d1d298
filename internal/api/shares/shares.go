package shares

import (
	"net/netip"
	"sync"
)

// Holder is the owner of a request: a tenant, or the network of a client without a valid key.
type Holder struct {
	TenantID int64
	Network  netip.Prefix
}

// Shares bound what requests hold, in total and per holder. They are safe for concurrent use.
type Shares struct {
	total, perHolder int64

	mu      sync.Mutex
	used    int64
	holders map[Holder]int64
}

// New returns shares with nothing reserved.
func New(total, perHolder int64) *Shares {
	return &Shares{total: total, perHolder: perHolder, holders: map[Holder]int64{}}
}

// Reserved is how much is reserved.
func (s *Shares) Reserved() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return float64(s.used)
}

// Reserve takes n for a holder. It returns false, and takes nothing, if that would exceed the total
// or the holder's share.
func (s *Shares) Reserve(of Holder, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+n > s.total || s.holders[of]+n > s.perHolder {
		return false
	}
	s.used += n
	s.holders[of] += n
	return true
}

// Release gives n back.
func (s *Shares) Release(of Holder, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	if s.holders[of] -= n; s.holders[of] == 0 {
		delete(s.holders, of)
	}
}
