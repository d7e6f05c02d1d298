package fairqueue

import (
	"context"
	"reflect"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// TestEveryMethodIsQueued: each method of a Store waits for a slot of its tenant. The stores behind
// it would panic.
func TestEveryMethodIsQueued(t *testing.T) {
	t.Parallel()
	var none struct {
		PetStore
		OrderStore
		OnceStore
		usage.MonthStore
		KeyStore
		usage.FailedReader
	}
	s := New(
		Stores{Pets: none, Orders: none, Requests: none, Usage: none, Keys: none, Failed: none},
		Options{Slots: 1, PerTenant: 1},
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
		out := store.Method(i).Call(in)
		if err, _ := out[len(out)-1].Interface().(error); err == nil {
			t.Errorf("%s did not wait for the tenant's slot", method.Name)
		}
		release()
	}
	assert.Equal(t, called, 18, "methods")
}

// hold takes a slot of the tenant's.
func (q *queue) hold(tenantID int64) (release func()) {
	t, _, _ := q.enter(tenantID)
	return func() { q.release(tenantID, t) }
}
