package pgconn

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxOpening is how many connections a pool opens at the same time. Each of them costs a slow
	// Postgres a process and a handshake.
	maxOpening = 2
	// openTimeout limits an attempt. After lateOpen it gives up its turn to the next one, in case
	// the server it waits for is gone.
	openTimeout, lateOpen = 10 * time.Second, time.Second
)

// opener opens the connections of one pool. If a caller gives up, its attempt goes on, and the next
// caller gets the connection. Otherwise a slow Postgres would spend everything on handshakes whose
// callers are gone.
type opener struct {
	open  func(context.Context) (*session, error)
	turns chan struct{}
	// spare are sessions whose callers gave up.
	spare  chan *session
	closed atomic.Bool
	search
}

func newOpener(open func(context.Context) (*session, error)) *opener {
	return &opener{
		open: open, turns: make(chan struct{}, maxOpening), spare: make(chan *session, maxOpening),
		search: search{offers: make(chan opened), ended: make(chan struct{})},
	}
}

type opened struct {
	*session
	err error
}

func (o opened) close() {
	if o.session != nil {
		_ = o.Close()
	}
}

// get returns an opened session, or the error of an attempt that began after the call.
func (o *opener) get(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	got := make(chan opened)
	go o.attempt(ctx, got)
	for {
		select {
		case s := <-o.spare:
			if s.socket.quiet() && s.ofNow() {
				return s, nil
			}
			_ = s.Close()
		case one := <-got:
			return one.session, one.err
		case one := <-o.offers:
			return one.session, one.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// attempt opens a session when it is its turn, unless ctx has ended by then. If ctx ends later, the
// session becomes spare. A read-only session begins a search.
func (o *opener) attempt(ctx context.Context, got chan<- opened) {
	if !o.turn(ctx) {
		return
	}
	end := sync.OnceFunc(func() { <-o.turns })
	defer end()
	defer time.AfterFunc(lateOpen, end).Stop()
	found := o.found.Load()
	s, err := o.open(context.WithoutCancel(ctx))
	if s != nil && s.readOnly != nil {
		o.readOnly(found, s.readOnly, true)
	} else if errors.Is(err, errReadOnly) {
		o.readOnly(found, err, true)
	}
	select {
	case got <- opened{s, err}:
	case <-ctx.Done():
		o.keep(s)
	}
}

// keep keeps a session, nil for none, for the next caller.
func (o *opener) keep(s *session) {
	if s == nil {
		return
	}
	select {
	case o.spare <- s:
		time.AfterFunc(openTimeout, o.drain) // in case nobody asks for it
	default:
		_ = s.Close()
	}
	if o.closed.Load() {
		o.drain()
	}
}

// close closes the spare sessions, now and later.
func (o *opener) close() {
	if o.closed.CompareAndSwap(false, true) {
		close(o.ended)
	}
	o.drain()
}

func (o *opener) drain() {
	for {
		select {
		case s := <-o.spare:
			_ = s.Close()
		default:
			return
		}
	}
}
