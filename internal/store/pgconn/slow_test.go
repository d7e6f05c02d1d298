package pgconn

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/test/assert"
)

// calls makes n calls at once by a gate, which take that long, and returns how many were made at
// the same time at most, and how many did not get in.
func calls(t *testing.T, g *gate, n int, k kind, takes time.Duration) (most, refused int) {
	t.Helper()
	inside, results := 0, make(chan error)
	var mu sync.Mutex
	for range n {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			results <- g.pass(ctx, k, func(context.Context) error {
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				time.Sleep(takes) // by the bubble's clock
				mu.Lock()
				inside--
				mu.Unlock()
				return nil
			})
		}()
	}
	for range n {
		if err := <-results; err != nil {
			assert.True(t, errors.Is(err, errBusy) && Reason(err) == "slow", "the error is", err)
			refused++
		}
	}
	return most, refused
}

func TestGate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		usual, takes  time.Duration
		kind          kind
		most, refused int
	}{
		{"fast: all at once", time.Millisecond, 50 * time.Millisecond, reads, 16, 0},
		{"slow: fewer and fewer, and the queue as long as it moves", time.Millisecond, 200 * time.Millisecond, reads,
			narrowest, 10},
		{"far away: as always", 150 * time.Millisecond, 200 * time.Millisecond, reads, 16, 0},
		{"only the standby is far away", 150 * time.Millisecond, 200 * time.Millisecond, writes, 16, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := &gate{most: 16, limit: 16}
			calls(t, g, 1, c.kind, c.usual)
			if c.kind == writes {
				calls(t, g, 1, reads, time.Millisecond)
			}
			for range 4 {
				calls(t, g, 16, c.kind, c.takes)
			}
			most, refused := calls(t, g, 16, c.kind, c.takes)
			assert.Equal(t, fmt.Sprint(most, refused), fmt.Sprint(c.most, c.refused), c.name)
			_, refused = calls(t, g, 64, c.kind, time.Millisecond)
			assert.Equal(t, refused, 0, c.name, "refused just after")
			for range 8 {
				calls(t, g, 16, c.kind, time.Millisecond)
			}
			most, refused = calls(t, g, 16, c.kind, time.Millisecond)
			assert.Equal(t, fmt.Sprint(most, refused, g.inside, len(g.waiting)), "16 0 0 0", c.name, "and then fast")
		})
	}
}

// TestUnsampledCalls: slow calls that say nothing of Postgres narrow no gate.
func TestUnsampledCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{most: 16, limit: 16}
		calls(t, g, 1, reads, time.Millisecond)
		for range 32 {
			assert.NoError(t, g.pass(Unsampled(t.Context()), reads, func(context.Context) error {
				time.Sleep(time.Second) // by the bubble's clock
				return nil
			}))
		}
		most, refused := calls(t, g, 16, reads, time.Millisecond)
		assert.Equal(t, fmt.Sprint(most, refused, g.inside), "16 0 0")
	})
}

// TestGateOfACanceledCall: who gives up loses no place.
func TestGateOfACanceledCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{most: 1, limit: 1}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		assert.NoError(t, g.enter(ctx))
		gone := make(chan error)
		go func() { gone <- g.enter(ctx) }()
		synctest.Wait()
		cancel()
		assert.ErrorIs(t, <-gone, context.Canceled)
		g.leave(reads, 0)
		again, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.NoError(t, g.enter(again))
	})
}

// TestOpener: an attempt that somebody gave up is for the next one, two are under way at the same
// time, and one that hangs does not keep the next one waiting for long.
func TestOpener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		attempt := func(takes time.Duration, failure error) func(context.Context) (*session, error) {
			begun.Store(0)
			return func(ctx context.Context) (*session, error) {
				begun.Add(1)
				time.Sleep(takes) // by the bubble's clock
				assert.NoError(t, ctx.Err())
				if failure != nil {
					return nil, failure
				}
				return &session{host: &host{}, socket: &deadlineConn{}, driverConn: closable{}}, nil
			}
		}
		var open atomic.Value
		open.Store(attempt(3*time.Second, nil))
		o := newOpener(func(ctx context.Context) (*session, error) {
			return open.Load().(func(context.Context) (*session, error))(ctx)
		})
		get := func(within time.Duration) (*session, error) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			return o.get(ctx)
		}
		_, err := get(time.Second)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = get(time.Second)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		began := time.Now()
		_, err = get(2 * time.Second)
		assert.NoError(t, err)
		assert.True(
			t,
			time.Since(began) == time.Second,
			"the first attempt was for the third call, after",
			time.Since(began),
		)

		time.Sleep(20 * time.Second) // Nobody asks for what the others made.
		refused := errors.New("refused")
		open.Store(attempt(0, refused))
		_, err = get(time.Second)
		assert.True(t, errors.Is(err, refused) && begun.Load() == 1, "another attempt", err, begun.Load())

		open.Store(attempt(900*time.Millisecond, nil))
		for range 8 {
			go func() { _, _ = get(time.Second) }()
		}
		time.Sleep(800 * time.Millisecond)
		assert.Equal(t, begun.Load(), maxOpening, "attempts at the same time")
		time.Sleep(10 * time.Second)
		o.close()
		time.Sleep(openTimeout)
	})
}

// TestRepliesAtOnce: Postgres begins a process before it replies to a request for TLS, which takes
// a busy machine long. It need not reply to one that cancels a query.
func TestRepliesAtOnce(t *testing.T) {
	t.Parallel()
	for code, want := range map[uint32]error{tlsRequest: nil, cancelRequest: os.ErrDeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			go func() {
				_, _ = server.Read(make([]byte, 8))
				time.Sleep(900 * time.Millisecond) // by the bubble's clock
				_, _ = server.Write([]byte("N"))
			}()
			c := &deadlineConn{Conn: client, read: time.Minute}
			_, err := c.Write(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, code))
			assert.NoError(t, err)
			_, err = c.Read(make([]byte, 1))
			assert.ErrorIs(t, err, want, code)
			_ = c.Close()
			time.Sleep(time.Second)
		})
	}
}

// closable is a connection that can be closed.
type closable struct{ driverConn }

func (closable) Close() error { return nil }
