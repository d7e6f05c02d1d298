package freshness

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/test/assert"
)

// outcomesOf runs a test with LateWrites on a clock of its own.
func outcomesOf(t *testing.T, test func(t *testing.T, m *Memory, o *LateWrites)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(func() (int64, time.Time, bool) { return 1, time.Time{}, true })
		o := NewLateWrites(m)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- o.Run(ctx) }()
		test(t, m, o)
		cancel()
		assert.Equal(t, <-done, nil)
	})
}

// deaf is an Invalidator that can't announce anything while it is down. A write that ends then is
// as one whose intent ran out before.
type deaf struct {
	inner *Memory
	down  atomic.Bool
}

func (d *deaf) BeginWrite(ctx context.Context, tenantID int64, k Kind) (*Write, error) {
	if d.down.Load() {
		return nil, errors.New("down")
	}
	w, err := d.inner.BeginWrite(ctx, tenantID, k)
	return NewWrite(func(bool) error {
		_ = w.Commit()
		if d.down.Load() {
			return errors.New("late, and down")
		}
		return nil
	}), err
}

// TestLateAndNotAnnounced: a write that ended late, and could not be announced again, is announced
// as soon as that succeeds. Otherwise a list that was cached before it would be served until the
// next write.
func TestLateAndNotAnnounced(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, w *Write){
		"committed": func(t *testing.T, w *Write) {
			assert.True(t, w.Commit() != nil, "no error although readers don't know of the write")
		},
		"abandoned": func(_ *testing.T, w *Write) { w.Abandon() },
	} {
		outcomesOf(t, func(t *testing.T, m *Memory, o *LateWrites) {
			d := &deaf{inner: m}
			o.inner = d
			w, err := o.BeginWrite(t.Context(), 1, Changes)
			assert.NoError(t, err)
			d.down.Store(true)
			end(t, w)
			time.Sleep(time.Minute)
			stale := m.Stamp(1)
			assert.True(t, stale != 0, name, "the write is announced")
			d.down.Store(false)
			time.Sleep(3 * announceEvery)
			if s := m.Stamp(1); s == 0 || s == stale || len(o.all()) != 0 {
				t.Errorf(
					"%s: stamp %d, %d before the write was announced again; %d are unknown",
					name,
					s,
					stale,
					len(o.all()),
				)
			}
		})
	}
}
