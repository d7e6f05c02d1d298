package api

import (
	"net/http"
	"strings"

	"petstore.example/internal/keys"
)

// connection is what a ResponseWriter may offer besides: one value that its connection keeps from request to request.
type connection interface {
	UserData() any
	SetUserData(data any)
}

// connCache is what a connection keeps from one request for the next, because most connections send the same header again. It holds
// only what the header's bytes alone determine: whose the key is, whether it is valid and what its limits are is looked up for
// every request. A proxy's connection carries requests of several tenants, so the whole header is compared before its token is used.
type connCache struct {
	// authorization is the last valid Authorization header, and token the key in it; empty for none yet.
	authorization string
	token         keys.Token
}

// connCacheOf returns the cache of the connection that a response is written to, nil if it keeps none.
func connCacheOf(w http.ResponseWriter) *connCache {
	for {
		switch v := w.(type) {
		case connection:
			c, ok := v.UserData().(*connCache)
			if !ok {
				c = &connCache{}
				v.SetUserData(c)
			}
			return c
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return nil
		}
	}
}

// get returns the token of a header that this connection sent before. To check and hash the key anew takes 0.9 µs.
//
// The comparison is not in constant time. Who could measure it, on a connection shared with the key's owner, learns only how many
// whole words of the key are right, of eight bytes and 62^8 values each; and a wrong guess is a 401 that counts for its address.
func (c *connCache) get(authorization string) (keys.Token, bool) {
	if c == nil || authorization == "" || authorization != c.authorization {
		return keys.Token{}, false
	}
	return c.token, true
}

// own returns a copy of a header that put may keep: the header itself may be part of a string that holds the whole request.
func (c *connCache) own(authorization string) string {
	if c == nil || len(authorization) > maxAuthorization {
		return authorization
	}
	return strings.Clone(authorization)
}

// put keeps a valid header and its token, unless spaces make it long.
func (c *connCache) put(authorization string, token keys.Token) {
	if c != nil && len(authorization) <= maxAuthorization {
		c.authorization, c.token = authorization, token
	}
}

// maxAuthorization is the longest Authorization header that is kept: a key, its scheme, and some spaces.
const maxAuthorization = 64
