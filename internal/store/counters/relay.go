package counters

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"petstore.example/internal/store/pgconn"
)

// RelayChannel is on which Postgres announces calls to Redis that a server makes for another, and their results.
const RelayChannel = "petstore_relay"

const (
	// relayPoll is how often a result is looked for whose announcement does not arrive. If there is none the next server is asked.
	relayPoll = 30 * time.Millisecond
	// relayTimeout bounds what a server does for another. That one waits for less.
	relayTimeout = time.Second
	// relaysAtOnce bounds how many calls a server makes for others at the same time.
	relaysAtOnce = 8
)

const (
	// relayQuery also removes what others left behind.
	relayQuery = `
with old as (delete from relayed_calls where made_at < clock_timestamp() - interval '10 seconds'),
call as (insert into relayed_calls (caller, number, server, call) values ($1, $2, $3, $4) on conflict do nothing)
select pg_notify('` + RelayChannel + `', 'call ' || $3::text || ' ' || $1::text || ' ' || $2::bigint)`

	redirectQuery = `
with c as (update relayed_calls set server = $3 where caller = $1 and number = $2 and result is null returning caller, number, server)
select pg_notify('` + RelayChannel + `', 'call ' || server || ' ' || caller || ' ' || number) from c`

	relayedCallQuery = `
select call from relayed_calls where caller = $1 and number = $2 and server = $3 and result is null`

	saveResultQuery = `
with r as (update relayed_calls set result = $3 where caller = $1 and number = $2 and result is null returning caller, number)
select pg_notify('` + RelayChannel + `', 'result ' || caller || ' ' || number) from r`

	takeResultQuery = `
delete from relayed_calls where caller = $1 and number = $2 and result is not null returning result`
)

// Relay carries calls from server to server through a table, which only servers may read and write: a notification says just that
// there is something. It is a distributed.Relay.
type Relay struct {
	db *pgconn.DB
	id string
	// serve makes a call for another server; nil until there is a limiter.
	serve   atomic.Pointer[func(ctx context.Context, call []byte) []byte]
	serving chan struct{}
	running sync.WaitGroup

	mu sync.Mutex
	// number is that of the last call, closed says that no more are served. results has for each call what tells of its result.
	number  int64
	closed  bool
	results map[int64]chan struct{}
}

// NewRelay returns the relay of the server with that id. It carries calls once its Notified hears of them.
func NewRelay(db *pgconn.DB, serverID string) *Relay {
	return &Relay{db: db, id: serverID, serving: make(chan struct{}, relaysAtOnce), results: map[int64]chan struct{}{}}
}

// Serve has f make the calls of other servers from now on.
func (r *Relay) Serve(f func(ctx context.Context, call []byte) []byte) { r.serve.Store(&f) }

// Close waits until no call is served, and serves no more. Send works on: a limiter that is closed after it removes its write intents.
func (r *Relay) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.running.Wait()
}

// Notified takes the text of a notification. It does not wait for anything.
func (r *Relay) Notified(text string) {
	words := strings.Fields(text)
	switch {
	case len(words) == 4 && words[0] == "call" && words[1] == r.id:
		if n, err := strconv.ParseInt(words[3], 10, 64); err == nil {
			r.start(words[2], n)
		}
	case len(words) == 3 && words[0] == "result" && words[1] == r.id:
		if n, err := strconv.ParseInt(words[2], 10, 64); err == nil {
			r.announce(n)
		}
	}
}

// announce tells who waits for the result of a call that it is there.
func (r *Relay) announce(number int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case r.results[number] <- struct{}{}:
	default: // Nobody waits for it, or it is known.
	}
}

// Send has the first of the servers make a call, and the next one if there is no result soon. It returns the first result, or the
// context's error if that ends before.
func (r *Relay) Send(ctx context.Context, serverIDs []string, call []byte) (result []byte, err error) {
	announced := make(chan struct{}, 1)
	r.mu.Lock()
	r.number++
	number := r.number
	r.results[number] = announced
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.results, number)
	}()
	var sent []string
	if err := r.db.Select(ctx, &sent, relayQuery, r.id, number, serverIDs[0], call); err != nil {
		return nil, fmt.Errorf("relay a call: %w", err)
	}
	poll := time.NewTicker(relayPoll)
	defer poll.Stop()
	for next := serverIDs[1:]; ; {
		late := false
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("relay a call: %w", ctx.Err())
		case <-announced:
		case <-poll.C:
			late = true
		}
		var results [][]byte
		if err := r.db.Select(ctx, &results, takeResultQuery, r.id, number); err != nil {
			return nil, fmt.Errorf("read the result of a relayed call: %w", err)
		}
		if len(results) > 0 {
			return results[0], nil
		}
		if late && len(next) > 0 {
			if err := r.db.Select(ctx, &sent, redirectQuery, r.id, number, next[0]); err != nil {
				return nil, fmt.Errorf("relay a call to another server: %w", err)
			}
			next = next[1:]
		}
	}
}

// start serves a call in the background.
func (r *Relay) start(caller string, number int64) {
	serve := r.serve.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	if serve == nil || r.closed {
		return
	}
	r.running.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), relayTimeout)
		defer cancel()
		select {
		case r.serving <- struct{}{}:
			defer func() { <-r.serving }()
		case <-ctx.Done():
			return
		}
		r.make(ctx, *serve, caller, number)
	})
}

// make makes a call if there is one. After an error the caller hears nothing, and gives up.
func (r *Relay) make(ctx context.Context, serve func(context.Context, []byte) []byte, caller string, number int64) {
	var calls [][]byte
	if err := r.db.Select(ctx, &calls, relayedCallQuery, caller, number, r.id); err != nil || len(calls) == 0 {
		return
	}
	var saved []string
	_ = r.db.Select(ctx, &saved, saveResultQuery, caller, number, serve(ctx, calls[0]))
}
