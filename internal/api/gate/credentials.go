package gate

import (
	"hash/maphash"
	"sync/atomic"

	"petstore.example/internal/keys"
)

// credentialHeader is an Authorization header with the key in it.
type credentialHeader struct {
	authorization string
	token         keys.Token
}

// maxAuthorization is the longest Authorization header that is kept: a key, its scheme, and some
// spaces.
const maxAuthorization = 64

// recentSlots is the number of headers that recentCredentials has room for.
const recentSlots = 4096

// recentCredentials keeps well-formed headers: most clients send the same one again, and checking
// and hashing its key takes 0.9 µs. It holds only what follows from the header's bytes; the caller,
// its validity and its limits are looked up for every request. A header stays until another takes
// its slot. It is safe for concurrent use.
type recentCredentials struct {
	seed  maphash.Seed
	slots [recentSlots]atomic.Pointer[credentialHeader]
}

func newRecentCredentials() *recentCredentials { return &recentCredentials{seed: maphash.MakeSeed()} }

// get returns nil for a header that is not kept. It does not compare in constant time, but nobody
// can choose the header that a guess is compared with: the seed of the slots is random.
func (r *recentCredentials) get(authorization string) *credentialHeader {
	if h := r.slot(authorization).Load(); h != nil && h.authorization == authorization {
		return h
	}
	return nil
}

// put keeps a well-formed header in place of the one in its slot.
func (r *recentCredentials) put(h *credentialHeader) { r.slot(h.authorization).Store(h) }

func (r *recentCredentials) slot(authorization string) *atomic.Pointer[credentialHeader] {
	return &r.slots[maphash.String(r.seed, authorization)%recentSlots]
}
