package pgconn

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxOpening is how many connections a pool opens at the same time: each takes a process and a
	// handshake from what a slow Postgres has.
	maxOpening = 2
	// openTimeout is how long an attempt lasts at most. After lateOpen the next one begins beside
	// it: what it waits for may be gone.
	openTimeout, lateOpen = 10 * time.Second, time.Second
)

// opener opens the connections of one pool. An attempt that was begun is brought to its end,
// whoever gives up waiting for it, and the next who asks gets what it made. Otherwise a slow
// Postgres would spend all that it has on handshakes that nobody waits for any more.
type opener struct {
	open  func(context.Context) (*session, error)
	turns chan struct{}
	// spare are sessions that nobody waited for.
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

// get returns a session that was or is opened, or the error of an attempt that began since.
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

// attempt opens a session when it is its turn, unless ctx has ended then. If it ends meanwhile, the
// session is spare. One that takes no writes begins a search.
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

// keep keeps a session, nil for none, for who asks next.
func (o *opener) keep(s *session) {
	if s == nil {
		return
	}
	select {
	case o.spare <- s:
		time.AfterFunc(openTimeout, o.drain) // Nobody asks.
	default:
		_ = s.Close()
	}
	if o.closed.Load() {
		o.drain()
	}
}

// close closes what is spare, now and later.
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
