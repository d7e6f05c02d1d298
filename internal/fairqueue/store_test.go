package fairqueue

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// TestEveryMethodIsQueued: each method of a Store waits for a slot of its tenant. The stores behind
// it would panic.
func TestEveryMethodIsQueued(t *testing.T) {
	t.Parallel()
	var none struct {
		catalog.Store
		catalog.OrderStore
		catalog.OnceStore
		usage.MonthStore
		KeyStore
		usage.FailedReader
	}
	s := New(
		Stores{Pets: none, Orders: none, Requests: none, Usage: none, Keys: none, Failed: none},
		Options{Slots: 1, PerTenant: 1, Places: 1},
	)
	store, called := reflect.ValueOf(s), 0
	for i := range store.NumMethod() {
		method := store.Type().Method(i)
		if method.Name == "Waiting" {
			continue
		}
		called++
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		in := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(int64(7))}
		for n := len(in) + 1; n < method.Type.NumIn(); n++ {
			in = append(in, reflect.Zero(method.Type.In(n)))
		}
		release := s.queue.hold(7)
		if method.Name == "Place" {
			release()
			release = s.places.hold(7)
		}
		out := store.Method(i).Call(in)
		if err, _ := out[len(out)-1].Interface().(error); err == nil {
			t.Errorf("%s did not wait for the tenant's slot", method.Name)
		}
		release()
	}
	assert.Equal(t, called, 19, "methods")
}

// hold takes a slot of the tenant's.
func (q *queue) hold(tenantID int64) (release func()) {
	t, _, _ := q.enter(tenantID)
	return func() { q.release(tenantID, t) }
}

// TestPlaces: reads that count in no window have two places of each tenant. More wait, and get
// ErrManyReads if none is free in time. What runs in a place needs no other, and its context is
// marked.
func TestPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type mark struct{}
		s := New(Stores{}, Options{
			Slots: 4, PerTenant: 4, Places: 2, Timeout: time.Second,
			Mark: func(ctx context.Context) context.Context { return context.WithValue(ctx, mark{}, true) },
		})
		results := make(chan error, 5)
		for range 5 {
			go func() {
				results <- s.Place(t.Context(), 7, func(ctx context.Context) error {
					return s.Place(ctx, 7, func(ctx context.Context) error {
						assert.True(t, ctx.Value(mark{}) != nil, "the context is not marked")
						time.Sleep(700 * time.Millisecond) // by the bubble's clock: two after another, not three
						return nil
					})
				})
			}()
		}
		synctest.Wait()
		assert.Equal(t, s.Waiting(), 3, "that wait")
		assert.NoError(t, s.Place(t.Context(), 8, func(context.Context) error { return nil }), "another tenant")
		refused := 0
		for range 5 {
			if err := <-results; err != nil {
				assert.ErrorIs(t, err, catalog.ErrManyReads)
				refused++
			}
		}
		assert.Equal(t, refused, 1, "refused")
		ctx, cancel := context.WithCancel(t.Context())
		release, second := s.places.hold(7), s.places.hold(7)
		cancel()
		err := s.Place(ctx, 7, func(context.Context) error { return nil })
		assert.True(t, errors.Is(err, context.Canceled) && !errors.Is(err, catalog.ErrManyReads), "gone:", err)
		release()
		second()
	})
}

type fakeKeys struct{ KeyStore }

func (fakeKeys) Change(
	ctx context.Context, _ int64, _ keys.Digest, _ keys.CustomerChange, _ *catalog.Idempotency,
) (keys.CustomerKey, error) {
	return keys.CustomerKey{}, ctx.Err()
}

// TestRevocationsWaitForNoOther: while a tenant reads and changes keys in all places, another change
// waits for one, and a revocation does not.
func TestRevocationsWaitForNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Stores{Keys: fakeKeys{}}, Options{
			Slots: 4, PerTenant: 4, Places: 2, Timeout: time.Second,
		})
		release, second := s.places.hold(7), s.places.hold(7)
		change := func(action string) error {
			_, err := s.ChangeKey(t.Context(), 7, keys.Digest{}, keys.CustomerChange{Action: action}, nil)
			return err
		}
		for _, action := range []string{"key.issue", "key.edit", "key.rotate"} {
			assert.ErrorIs(t, change(action), catalog.ErrManyReads, action)
		}
		assert.NoError(t, change("key.revoke"))
		release()
		second()
		assert.NoError(t, change("key.edit"))
	})
}
