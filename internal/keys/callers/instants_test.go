package callers

import (
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/keys"
)

// TestInstantsAreSet: whatever instants do, they decide only whether a key has expired. A failed
// look-up is soon forgotten, and what is cached neither ages nor stays young.
func TestInstantsAreSet(t *testing.T) {
	for name, by := range map[string]time.Duration{"back": -time.Minute, "forward": 25 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var set time.Duration
				f := newFixture(t)
				f.instant = func() time.Time { return time.Now().Add(set) }
				expires := newToken(t, keys.Live)
				f.add(expires, 2)
				f.change(func(s *fakeStore) {
					c := s.callers[expires.Digest()]
					c.ExpiresAt = time.Now().Add(time.Hour)
					s.callers[expires.Digest()] = c
				})
				f.wantOf(t, expires, nil)
				f.down(true)
				f.want(t, keys.ErrUnavailable)

				f.down(false)
				set = by
				time.Sleep(retryInterval)
				f.want(t, nil)
				if by > 0 {
					f.wantOf(t, expires, keys.ErrInvalidKey)
				} else {
					f.wantOf(t, expires, nil)
				}

				f.lose()
				f.down(true)
				set = 0
				time.Sleep(staleTTL)
				f.want(t, nil)
				time.Sleep(time.Nanosecond)
				f.want(t, keys.ErrUnavailable)
			})
		})
	}
}
