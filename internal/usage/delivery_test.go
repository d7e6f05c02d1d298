package usage_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// TestDelivered: with every write a server says up to when it has recorded everything: ten seconds
// before the counts were collected. What is much is split, and what is nothing not written.
func TestDelivered(t *testing.T) {
	t.Parallel()
	s, now := &memoryStore{}, noon
	m := newMeter(s, func() time.Time { return now })
	flush(t, m)
	for i := range 1000 {
		m.Admitted(bucket(int64(i), fmt.Sprint("key_", i), 1), now, 0, usage.Unlimited)
	}
	for range 3 {
		flush(t, m)
	}
	if len(s.sums) != 1000 || len(s.uses) != 1000 {
		t.Errorf("recorded %d counts and %d uses, want 1000", len(s.sums), len(s.uses))
	}
	s.fail = func(int, bool) error { return usage.ErrUnavailable }
	now = now.Add(time.Minute)
	m.Admitted(usage.Bucket{TenantID: 1}, now, 0, usage.Unlimited)
	err := m.Flush(t.Context())
	assert.True(t, err != nil, "the store failed, and Flush did not")
	s.fail = nil
	now = now.Add(time.Minute)
	m.Admitted(usage.Bucket{TenantID: 1}, now, 0, usage.Unlimited)
	flush(t, m)
	var got []time.Time
	for _, b := range s.tried {
		got = append(got, b.DeliveredTo)
	}
	first := noon.Add(-10 * time.Second)
	// More of the first write follows its first batch. The write that failed is sent again as it
	// was.
	want := []time.Time{{}, first, first.Add(time.Minute), first.Add(time.Minute), first.Add(2 * time.Minute)}
	assert.DeepEqual(t, got, want, "delivered")
}

// TestIdleServersDeliver: once a minute, or as often as they announce themselves.
func TestIdleServersDeliver(t *testing.T) {
	t.Parallel()
	for _, announce := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := &memoryStore{}
			m := usage.NewMeter(s, usage.Options{ServerID: "s1", Announce: announce, Log: zerolog.Nop()})
			stop := start(t, m)
			began := time.Now()
			time.Sleep(150 * time.Second)
			synctest.Wait()
			last := s.tried[len(s.tried)-1].DeliveredTo
			behind := time.Since(last)
			most := map[bool]time.Duration{true: 16 * time.Second, false: 71 * time.Second}[announce]
			assert.True(t, behind <= most, "announce", announce, behind, "behind, want at most", most)
			if first := s.tried[0].DeliveredTo; !first.Equal(began) {
				t.Errorf("at its start a server has delivered up to %v, want %v", first, began)
			}
			if want := map[bool]int{true: 31, false: 3}[announce]; len(s.tried) != want ||
				s.last["s1"] != s.tried[0].Number+int64(want)-1 {
				t.Errorf("announce %v: %d writes up to number %d, want %d", announce, len(s.tried), s.last["s1"], want)
			}
			admitted := m.Admitted(bucket(1, "key_a", 1), time.Now(), 0, 1)
			assert.Equal(t, admitted, announce, "a request is admitted before it is recorded")
			if _, err := stop(); err != nil || s.ended != 1 {
				t.Errorf("announce %v: stop: %v, ended %d times, want once", announce, err, s.ended)
			}
		})
	}
}
