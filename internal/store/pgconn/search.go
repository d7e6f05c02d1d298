package pgconn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
)

// searchPause is the pause between two sessions that a search opens.
const searchPause = time.Second

// search finds a writable session for a pool whose sessions are read-only, because its address led
// to a standby or its database was frozen. It opens one session a second, and nothing else opens
// any. As soon as one is writable, all older ones are given up.
type search struct {
	// leave gives up all existing sessions; drop closes the idle ones. They are nil for a pool that
	// wants a standby, which never searches.
	leave, drop func()
	// offers are the sessions that a search has opened, for callers that wait for one.
	offers chan opened
	ended  chan struct{} // closed with the pool
	// found counts the searches that found a session.
	found atomic.Int64

	mu sync.Mutex
	// over is closed when the search ends; nil if none is under way.
	over chan struct{}
	next time.Time
	why  error
}

// underway returns a channel that is closed when the search ends, nil without a search.
func (k *search) underway() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.over
}

// readOnly begins a search, unless one is under way or has found a session since found was read.
// why is the error of the read-only session, nil if unknown. If the session was just opened
// (wasOpened), it counts as the search's first.
func (o *opener) readOnly(found int64, why error, wasOpened bool) {
	k := &o.search
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leave == nil || found != k.found.Load() || o.closed.Load() {
		return
	}
	if why != nil {
		k.why = why
	}
	if now := time.Now(); k.next.Before(now) {
		k.next = now
	}
	if wasOpened {
		k.next = k.next.Add(searchPause)
	}
	if k.over == nil {
		k.over = make(chan struct{})
		go o.look(k.over)
	}
}

// look opens sessions until one is writable, or the pool is closed.
func (o *opener) look(over chan struct{}) {
	k := &o.search
	for k.await() {
		// Behind a pooler, the new session may wait for what the older ones hold.
		late := time.AfterFunc(lateOpen, func() { k.leave(); k.drop() })
		s, err := o.open(context.Background())
		late.Stop()
		k.mu.Lock()
		k.next = time.Now().Add(searchPause)
		if s != nil && s.readOnly == nil {
			k.found.Add(1)
			k.over, k.why = nil, nil
			k.mu.Unlock()
			k.leave()
			s.left = s.host.left.Load()
			o.keep(s)
			close(over)
			k.drop()
			return
		}
		if s != nil {
			s.left, k.why = s.host.left.Load(), s.readOnly
		}
		k.mu.Unlock()
		o.offer(opened{s, err})
	}
}

// await waits until the next session may be opened. A call of readOnly may put that off. It returns
// false if the pool was closed.
func (k *search) await() bool {
	for {
		k.mu.Lock()
		wait := time.Until(k.next)
		k.mu.Unlock()
		if wait <= 0 {
			return true
		}
		select {
		case <-k.ended:
			return false
		case <-time.After(wait):
		}
	}
}

// offer gives a session to one waiting caller, or an error to all of them.
func (o *opener) offer(one opened) {
	for {
		select {
		case o.offers <- one:
			if one.err == nil {
				return
			}
		default:
			one.close()
			return
		}
	}
}

// turn waits until an attempt may begin. It returns false if ctx has ended.
func (o *opener) turn(ctx context.Context) bool {
	for {
		select {
		case o.turns <- struct{}{}:
		case <-ctx.Done():
			return false
		}
		over := o.underway()
		if over == nil {
			return true
		}
		<-o.turns
		select {
		case <-over:
		case <-ctx.Done():
			return false
		}
	}
}

// wanted returns the kind of session that the settings ask for; see connector.wants.
func wanted(cfg pq.Config) pq.TargetSessionAttrs {
	switch attrs := cfg.TargetSessionAttrs; attrs {
	case "":
		return pq.TargetSessionAttrsAny
	case pq.TargetSessionAttrsAny, pq.TargetSessionAttrsReadWrite, pq.TargetSessionAttrsPrimary:
		return attrs
	}
	return ""
}

// anyState is a setting that makes lib/pq take any session.
const anyState = " target_session_attrs=any"

// stateQuery returns "" from a writable session, "standby", or the pg_settings.source of another
// setting that prevents writes.
const stateQuery = `select case when pg_is_in_recovery() then 'standby'
	when current_setting('transaction_read_only')::bool then
		(select source from pg_settings where name = 'default_transaction_read_only') else '' end`

// EndBackend makes a read-only session end its own backend.
const EndBackend = `reset role;
	select pg_terminate_backend(pg_backend_pid()) where current_setting('transaction_read_only')::bool`

// errReadOnly: a session is read-only.
var errReadOnly = errors.New("read-only")

// readOnlyError is errReadOnly with a result of stateQuery.
type readOnlyError string

func (e readOnlyError) Error() string {
	if e == "standby" {
		return "a standby, which takes no writes"
	}
	return fmt.Sprintf("frozen: default_transaction_read_only is on (pg_settings.source: %s)", string(e))
}

func (e readOnlyError) Is(target error) bool { return target == errReadOnly }

// CheckWrites returns an error that is ErrUnavailable for a read-only session, and ends its
// backend.
func CheckWrites(ctx context.Context, conn *sql.Conn) error {
	var state string
	if err := conn.QueryRowContext(ctx, stateQuery).Scan(&state); err != nil {
		return Translate(err)
	}
	if state == "" {
		return nil
	}
	_, _ = conn.ExecContext(ctx, EndBackend)
	return unavailableError{readOnlyError(state)}
}

// noted begins a search if a call failed because its session is read-only, and adds the reason to
// its error. found is the value of search.found before the call.
func (d *DB) noted(found int64, err error) error {
	if !isReadOnly(err) {
		return err
	}
	d.opener.readOnly(found, nil, false)
	d.opener.mu.Lock()
	why := d.opener.why
	d.opener.mu.Unlock()
	if why != nil && !errors.Is(err, errReadOnly) {
		err = unavailableError{fmt.Errorf("%w: %w", why, err)}
	}
	return err
}
