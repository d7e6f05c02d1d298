package fairqueue

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
)

// bubble runs a test of a queue with a clock of its own. At its end the queue must hold nothing.
func bubble(t *testing.T, o Options, test func(t *testing.T, q *queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(o)
		test(t, q)
		synctest.Wait()
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.running != 0 || q.waiting != 0 || len(q.tenants) != 0 || q.turns.Len() != 0 {
			t.Errorf(
				"at the end %d run, %d wait, %d tenants, %d turns",
				q.running,
				q.waiting,
				len(q.tenants),
				q.turns.Len(),
			)
		}
	})
}

// occupy starts calls of a tenant that take that long. done, if not nil, gets the tenant at the end
// of each.
func (q *queue) occupy(t *testing.T, tenantID int64, calls int, long time.Duration, done func(error)) {
	for range calls {
		go func() {
			err := q.run(t.Context(), tenantID, func(context.Context) error {
				time.Sleep(long)
				return nil
			})
			if done != nil {
				done(err)
			}
		}()
	}
	synctest.Wait()
}

// A tenant alone gets its own bound, and the order of arrival.
func TestOneTenant(t *testing.T) {
	bubble(t, Options{Slots: 4, PerTenant: 3, Timeout: time.Minute}, func(t *testing.T, q *queue) {
		start := time.Now()
		var ended []time.Duration
		var mu sync.Mutex
		q.occupy(t, 1, 7, time.Second, func(error) {
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, time.Since(start))
		})
		q.mu.Lock()
		assert.Equal(t, q.running, 3, "run")
		assert.Equal(t, q.waiting, 4, "wait")
		q.mu.Unlock()
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		for i, at := range ended {
			want := time.Duration(1+i/3) * time.Second
			assert.Equal(t, at, want, "call", i, "ended after")
		}
	})
}

// A tenant that waits gets the next free slot, however many calls of others came before.
func TestTurnsGoByTenant(t *testing.T) {
	bubble(t, Options{Slots: 4, PerTenant: 3, Timeout: time.Minute}, func(t *testing.T, q *queue) {
		q.occupy(t, 1, 50, time.Second, nil)
		q.occupy(t, 2, 50, time.Second, nil)
		time.Sleep(time.Second / 2)
		start := time.Now()
		assert.NoError(t, q.run(t.Context(), 3, func(context.Context) error { return nil }))
		assert.Equal(t, time.Since(start), time.Second/2, "it waited")
		time.Sleep(time.Minute)
	})
}

// A slot is free for others while a tenant has all of its own.
func TestATenantLeavesSlots(t *testing.T) {
	bubble(t, Options{Slots: 4, PerTenant: 3, Timeout: time.Minute}, func(t *testing.T, q *queue) {
		q.occupy(t, 1, 50, time.Second, nil)
		start := time.Now()
		for range 10 {
			assert.NoError(t, q.run(t.Context(), 2, func(context.Context) error { return nil }))
		}
		assert.Equal(t, time.Since(start), 0, "another tenant waited")
		time.Sleep(time.Minute)
	})
}

func TestAWaitEnds(t *testing.T) {
	bubble(t, Options{Slots: 2, PerTenant: 2, Timeout: time.Second}, func(t *testing.T, q *queue) {
		q.occupy(t, 1, 2, time.Hour, nil)
		called := func(context.Context) error {
			t.Error("the call was made")
			return nil
		}
		start := time.Now()
		if err := q.run(
			t.Context(),
			2,
			called,
		); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, catalog.ErrNotMade) ||
			time.Since(start) != 750*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, q.run(ctx, 1, called), context.Canceled)
		time.Sleep(time.Hour)
	})
}

// The time of a call that had to wait includes its wait.
func TestTimeoutIncludesTheWait(t *testing.T) {
	bubble(t, Options{Slots: 1, PerTenant: 1, Timeout: time.Second}, func(t *testing.T, q *queue) {
		q.occupy(t, 1, 1, 600*time.Millisecond, nil)
		err := q.run(t.Context(), 2, func(ctx context.Context) error {
			deadline, _ := ctx.Deadline()
			assert.Equal(t, time.Until(deadline), 400*time.Millisecond, "are left for the call")
			return nil
		})
		assert.Equal(t, err, nil)
	})
}

func TestAPanicFreesTheSlot(t *testing.T) {
	bubble(t, Options{Slots: 1, PerTenant: 1, Timeout: time.Second}, func(t *testing.T, q *queue) {
		defer func() { _ = recover() }()
		_ = q.run(t.Context(), 1, func(context.Context) error { panic("bug") })
	})
}

// check checks the bounds, and that nobody waits who could run.
func (q *queue) check(t *testing.T) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	running := 0
	for id, c := range q.tenants {
		running += c.running
		if c.running > q.PerTenant {
			t.Fatalf("%d calls of tenant %d run", c.running, id)
		}
		if c.waiting.Len() > 0 && c.running < q.PerTenant && q.running < q.Slots {
			t.Fatalf("tenant %d waits although %d of its calls and %d of all run", id, c.running, q.running)
		}
	}
	if running != q.running || running > q.Slots {
		t.Fatalf("%d calls run, the queue says %d", running, q.running)
	}
}

// TestBoundsHold makes random calls, some of which are canceled, and checks the bounds at every
// step.
func TestBoundsHold(t *testing.T) {
	bubble(t, Options{Slots: 5, PerTenant: 3, Timeout: 300 * time.Millisecond}, func(t *testing.T, q *queue) {
		const seed = 1
		random := rand.New(rand.NewPCG(seed, seed))
		ended := map[bool]int{}
		var mu sync.Mutex
		for range 5000 {
			tenantID, long, limit := random.Int64N(6), time.Duration(
				random.IntN(100),
			)*time.Millisecond, time.Duration(random.IntN(400))*time.Millisecond
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				called := false
				_ = q.run(ctx, tenantID, func(context.Context) error {
					called = true
					time.Sleep(long)
					return nil
				})
				mu.Lock()
				defer mu.Unlock()
				ended[called]++
			}()
			time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
			synctest.Wait()
			q.check(t)
		}
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		t.Logf("made %d calls, %d left", ended[true], ended[false])
		if ended[true] == 0 || ended[false] == 0 {
			t.Error("want some of both")
		}
	})
}
