package httpfast

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// requestContext is a fast request's context. It ends with the request, or when the client
// disconnects. To notice a disconnect, net/http runs a goroutine during every request, which costs
// 1 µs. Here the first call of Done starts watching; a request that is answered from memory does
// not call Done.
type requestContext struct {
	context.Context // the connection's
	conn            *Conn

	mu sync.Mutex
	// watched is the context that ends with the connection, nil before the first Done.
	watched atomic.Pointer[cancelable]
	over    bool
	watcher *disconnectWatcher
}

type cancelable struct {
	context.Context
	cancel context.CancelFunc
}

// Done implements context.Context.
func (r *requestContext) Done() <-chan struct{} {
	if c := r.watched.Load(); c != nil {
		return c.Done()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.watched.Load()
	if c == nil {
		c = new(cancelable)
		c.Context, c.cancel = context.WithCancel(r.Context)
		if r.over {
			c.cancel()
		} else {
			r.watcher = watchDisconnect(r.conn, c.cancel)
		}
		r.watched.Store(c)
	}
	return c.Done()
}

// Err implements context.Context.
func (r *requestContext) Err() error {
	if c := r.watched.Load(); c != nil {
		return c.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return context.Canceled
	}
	return r.Context.Err()
}

// Value implements context.Context. Package context looks up its own key here, so that a child
// context needs no goroutine.
func (r *requestContext) Value(key any) any {
	if key == http.LocalAddrContextKey {
		return r.conn.LocalAddr()
	}
	if c := r.watched.Load(); c != nil {
		return c.Value(key)
	}
	return r.Context.Value(key)
}

// end ends the context with its request. It reports whether the client was watched, and returns
// what the client sent meanwhile: at most one byte.
func (r *requestContext) end() (ahead []byte, watched bool) {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	if c := r.watched.Load(); c != nil {
		c.cancel()
	}
	if r.watcher == nil {
		return nil, false
	}
	return r.watcher.stop(), true
}

// disconnectWatcher reads from a connection to notice that the client disconnects.
type disconnectWatcher struct {
	conn  net.Conn
	byte  [1]byte
	count int
	// stopping is set when the read must end although the client is still connected.
	stopping atomic.Bool
	ended    chan struct{}
}

func watchDisconnect(c *Conn, cancel context.CancelFunc) *disconnectWatcher {
	w := &disconnectWatcher{conn: c.Conn, ended: make(chan struct{})}
	_ = w.conn.SetReadDeadline(time.Time{})
	go func() {
		defer close(w.ended)
		var err error
		if w.count, err = w.conn.Read(w.byte[:]); err != nil && !w.stopping.Load() {
			cancel()
		}
	}()
	return w
}

// stop stops watching, and returns what the client sent meanwhile.
func (w *disconnectWatcher) stop() []byte {
	w.stopping.Store(true)
	// An error means a closed connection, whose read has ended.
	_ = w.conn.SetReadDeadline(longAgo)
	<-w.ended
	return w.byte[:w.count]
}
