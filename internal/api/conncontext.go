package api

import (
	"context"
	"errors"
	"net"
)

// clientConn is a connection that is told of each request with a valid key, with the key's tenant.
// It knows whether its client has closed it.
type clientConn interface {
	SetAuthenticated(tenantID int64)
	Gone() bool
}

type connKey struct{}

// ConnContext is for http.Server.ConnContext. If the connection has the methods of clientConn, each
// request with a valid key calls SetAuthenticated, and ClientGone calls Gone.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(clientConn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// ClientGone reports whether the client of a request has closed its connection, or its half of the
// connection. It asks the connection itself: net/http ends the request's context only when it reads
// the end, and after a pause of the process a handler may be faster.
func ClientGone(ctx context.Context) bool {
	if errors.Is(ctx.Err(), context.Canceled) {
		return true
	}
	c, ok := ctx.Value(connKey{}).(clientConn)
	return ok && c.Gone()
}

// setAuthenticated tells a request's connection that the request has a valid key of the tenant.
func setAuthenticated(ctx context.Context, tenantID int64) {
	if c, ok := ctx.Value(connKey{}).(clientConn); ok {
		c.SetAuthenticated(tenantID)
	}
}
