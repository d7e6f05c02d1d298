package httpfast

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// requestContext is a plain request's. It ends with the request, or when the client hangs up meanwhile. net/http listens for that
// during every request, with a goroutine for each: 1 µs. Here it begins when somebody asks to be told: who answers from memory does not.
type requestContext struct {
	context.Context // the connection's
	conn            *Conn

	mu sync.Mutex
	// told is the context that can be ended, once somebody asked.
	told              atomic.Pointer[cancellable]
	over              bool
	disconnectWatcher *disconnectWatcher
}

type cancellable struct {
	context.Context
	cancel context.CancelFunc
}

// Done implements context.Context.
func (r *requestContext) Done() <-chan struct{} {
	if c := r.told.Load(); c != nil {
		return c.Done()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.told.Load()
	if c == nil {
		c = new(cancellable)
		c.Context, c.cancel = context.WithCancel(r.Context)
		if r.over {
			c.cancel()
		} else {
			r.disconnectWatcher = r.conn.listen(c.cancel)
		}
		r.told.Store(c)
	}
	return c.Done()
}

// Err implements context.Context.
func (r *requestContext) Err() error {
	if c := r.told.Load(); c != nil {
		return c.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return context.Canceled
	}
	return r.Context.Err()
}

// Value implements context.Context. What context itself asks here lets a child be ended without a goroutine of its own.
func (r *requestContext) Value(key any) any {
	if key == http.LocalAddrContextKey {
		return r.conn.LocalAddr()
	}
	if c := r.told.Load(); c != nil {
		return c.Value(key)
	}
	return r.Context.Value(key)
}

// end ends the context with its request, and returns what the client sent meanwhile: at most one byte.
func (r *requestContext) end() (ahead []byte) {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	if c := r.told.Load(); c != nil {
		c.cancel()
	}
	if r.disconnectWatcher == nil {
		return nil
	}
	return r.disconnectWatcher.stop()
}

// disconnectWatcher waits for a client to hang up, by reading from its connection.
type disconnectWatcher struct {
	conn  *Conn
	byte  [1]byte
	count int
	// stopping is set when the read is to end without anybody having hung up.
	stopping atomic.Bool
	ended    chan struct{}
}

func (c *Conn) listen(cancel context.CancelFunc) *disconnectWatcher {
	h := &disconnectWatcher{conn: c, ended: make(chan struct{})}
	_ = c.readUntil(time.Time{})
	go func() {
		defer close(h.ended)
		var err error
		if h.count, err = c.receive(h.byte[:]); err != nil && !h.stopping.Load() {
			cancel()
		}
	}()
	return h
}

func (h *disconnectWatcher) stop() []byte {
	h.stopping.Store(true)
	// It fails where the connection is closed, and then the read has ended.
	_ = h.conn.readUntil(longAgo)
	<-h.ended
	return h.byte[:h.count]
}
