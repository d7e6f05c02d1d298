package usage_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// TestBacklog: what is counted and not recorded is known with its age, also while the store fails,
// and is gone when it is recorded.
func TestBacklog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := false
		store := &memoryStore{fail: func(_ int, after bool) error {
			if down && !after {
				return errors.New("down")
			}
			return nil
		}}
		m := usage.NewMeter(store, usage.Options{ServerID: "a"})
		want := func(requests int64, age time.Duration) {
			t.Helper()
			if b := m.Backlog(); b.Requests != requests || b.Age != age {
				t.Errorf("%+v, want %d requests of %v", b, requests, age)
			}
		}
		b := usage.Bucket{TenantID: 1, KeyID: "key_1"}
		time.Sleep(time.Hour)
		assert.NoError(t, m.Flush(t.Context()))
		want(0, 0)
		m.Admitted(b, time.Now(), 1, usage.Unlimited)
		m.Refused(b, time.Now())
		m.Refunded(usage.Bucket{TenantID: 1, KeyID: "key_2"}, time.Now(), 1)
		time.Sleep(time.Second)
		want(3, time.Second)
		down = true
		_ = m.Flush(t.Context())
		m.Admitted(b, time.Now(), 1, usage.Unlimited)
		time.Sleep(time.Minute)
		want(4, time.Minute+time.Second)
		down = false
		assert.NoError(t, m.Flush(t.Context()))
		want(0, 0)
		if admitted, refused := m.Progress.Recorded(); admitted != 2 || refused != 1 {
			t.Errorf("recorded %d and %d, want 2 and 1", admitted, refused)
		}
	})
}
