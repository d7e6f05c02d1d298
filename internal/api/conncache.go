package api

import (
	"context"
	"hash/maphash"
	"net"
	"sync/atomic"

	"petstore.example/internal/keys"
)

// connCache is what a connection keeps from one request for the next, because most connections send
// the same header again. It holds only what the header's bytes alone determine: whose the key is,
// whether it is valid and what its limits are is looked up for every request. A proxy's connection
// carries requests of several tenants, so the whole header is compared before its token is used.
type connCache struct {
	// last is the last well-formed header; nil for none yet.
	last atomic.Pointer[credentialHeader]

	// conn is told of valid keys, nil if it has no use for that.
	conn authenticatable
}

// authenticatable is a connection that is told when a request on it had a valid key, and whose.
type authenticatable interface{ SetAuthenticated(tenantID int64) }

// credentialHeader is an Authorization header and the key in it.
type credentialHeader struct {
	authorization string
	token         keys.Token
}

type connCacheKey struct{}

// ConnContext is for http.Server.ConnContext: it gives each connection a cache. If the connection
// has a method SetAuthenticated, it is called for each request with a valid key.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	c := &connCache{}
	c.conn, _ = conn.(authenticatable)
	return context.WithValue(ctx, connCacheKey{}, c)
}

// connCacheOf returns the cache of a request's connection, nil if it keeps none.
func connCacheOf(ctx context.Context) *connCache {
	c, _ := ctx.Value(connCacheKey{}).(*connCache)
	return c
}

// setAuthenticated notes that the key of a request is valid, and the tenant's.
func (c *connCache) setAuthenticated(tenantID int64) {
	if c != nil && c.conn != nil {
		c.conn.SetAuthenticated(tenantID)
	}
}

// get returns the token of a header that this connection sent before. To check and hash the key
// anew takes 0.9 µs.
//
// The comparison is not in constant time. Who could measure it, on a connection shared with the
// key's owner, learns only how many whole words of the key are right, of eight bytes and 62^8
// values each; and a wrong guess is a 401 that counts for its address.
func (c *connCache) get(authorization string) (keys.Token, bool) {
	if c == nil {
		return keys.Token{}, false
	}
	last := c.last.Load()
	if last == nil || authorization != last.authorization {
		return keys.Token{}, false
	}
	return last.token, true
}

// put keeps a well-formed header.
func (c *connCache) put(h *credentialHeader) {
	if c != nil {
		c.last.Store(h)
	}
}

// maxAuthorization is the longest Authorization header that is kept: a key, its scheme, and some
// spaces.
const maxAuthorization = 64

// recentSlots is how many headers recentCredentials has room for.
const recentSlots = 4096

// recentCredentials are well-formed headers that came on any connection, for those of a proxy,
// which carry requests of many tenants. As with a connection's own, each has its bytes compared.
// One stays until another takes its place, which may be a stranger's guess: then it is read anew.
// It is safe for concurrent use.
type recentCredentials struct {
	seed  maphash.Seed
	slots [recentSlots]atomic.Pointer[credentialHeader]
}

func newRecentCredentials() *recentCredentials { return &recentCredentials{seed: maphash.MakeSeed()} }

// get returns nil for a header that is not kept. Nobody can choose in which slot a guess is
// compared: see connCache.get.
func (r *recentCredentials) get(authorization string) *credentialHeader {
	if h := r.slot(authorization).Load(); h != nil && h.authorization == authorization {
		return h
	}
	return nil
}

// put keeps a well-formed header in the place of another.
func (r *recentCredentials) put(h *credentialHeader) { r.slot(h.authorization).Store(h) }

func (r *recentCredentials) slot(authorization string) *atomic.Pointer[credentialHeader] {
	return &r.slots[maphash.String(r.seed, authorization)%recentSlots]
}
