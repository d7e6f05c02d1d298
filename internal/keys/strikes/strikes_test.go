package strikes_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"github.com/ulule/limiter/v3"

	"petstore.example/internal/keys"
	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/plans"
)

// fakeBans is a strikes.BanStore in memory that can be down or hang.
type fakeBans struct {
	mu          sync.Mutex
	bans        []keys.Ban
	attempts    int
	down, hangs bool
}

func (b *fakeBans) PlaceAutomaticBan(ctx context.Context, tenantID int64, keyID string, now time.Time) (keys.Ban, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attempts++
	if b.hangs {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return keys.Ban{}, fmt.Errorf("%w: %w", keys.ErrUnavailable, err)
	}
	if b.down {
		return keys.Ban{}, keys.ErrUnavailable
	}
	for _, ban := range b.bans {
		if ban.KeyID == keyID && ban.InForce(now) {
			return ban, nil
		}
	}
	ban := keys.Ban{TenantID: tenantID, KeyID: keyID, StartsAt: now, EndsAt: now.Add(15 * time.Minute)}
	b.bans = append(b.bans, ban)
	return ban, nil
}

func (b *fakeBans) banned() (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ban := range b.bans {
		ids = append(ids, ban.KeyID)
	}
	return ids
}

func (b *fakeBans) set(down, hangs bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down, b.hangs = down, hangs
}

func (b *fakeBans) want(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, b.banned()); diff != "" {
		t.Errorf("banned (-want +got):\n%s", diff)
	}
}

// fakeShared is a limiter.Store that servers share. It can be down or hang.
type fakeShared struct {
	limiter.Store // nil: other methods are not used
	mu            sync.Mutex
	counts        map[string]int64
	calls         int
	down, hangs   bool
}

func (s *fakeShared) Increment(ctx context.Context, key string, n int64, rate limiter.Rate) (limiter.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.hangs {
		<-ctx.Done()
		return limiter.Context{}, ctx.Err()
	}
	if s.down {
		return limiter.Context{}, context.DeadlineExceeded
	}
	if s.counts == nil {
		s.counts = map[string]int64{}
	}
	s.counts[key] += n
	return limiter.Context{Limit: rate.Limit, Remaining: max(0, rate.Limit-s.counts[key])}, nil
}

func (s *fakeShared) Reset(_ context.Context, key string, _ limiter.Rate) (limiter.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.counts, key)
	return limiter.Context{}, nil
}

func (s *fakeShared) open() (limiter.Store, error) { return s, nil }

func (s *fakeShared) want(t *testing.T, calls int, counts map[string]int64) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := maps.Clone(s.counts); !cmp.Equal(got, counts) || s.calls != calls {
		t.Errorf("shared in %d calls: %v, want %v in %d", s.calls, got, counts, calls)
	}
}

func caller(keyID string, perMinute int64) *keys.Caller {
	return &keys.Caller{KeyID: keyID, Tenant: &plans.Tenant{ID: 7, Quota: plans.Quota{PerMinute: perMinute}}}
}

func refuse(c *strikes.Counter, caller *keys.Caller, times int) {
	for range times {
		c.Refused(context.Background(), caller, time.Now())
	}
}

// bubble runs a test of a Counter with a clock of its own.
func bubble(t *testing.T, o strikes.Options, test func(t *testing.T, c *strikes.Counter, bans *fakeBans)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bans := &fakeBans{}
		o.Bans = bans
		c := strikes.New(o)
		defer c.Close()
		test(t, c, bans)
	})
}

func TestTheRefusalThatReachesTheLimitBans(t *testing.T) {
	t.Parallel()
	for perMinute, limit := range map[int64]int{5: 30, 60: 60, 300: 300, 12345: 1000} {
		t.Run(fmt.Sprint(perMinute), func(t *testing.T) {
			var notified []keys.Ban
			o := strikes.Options{OnBan: func(b keys.Ban) { notified = append(notified, b) }}
			bubble(t, o, func(t *testing.T, c *strikes.Counter, bans *fakeBans) {
				a, b := caller("key_a", perMinute), caller("key_b", perMinute)
				refuse(c, b, limit-1)
				refuse(c, a, limit-1)
				bans.want(t)
				refuse(c, a, 1)
				bans.want(t, "key_a")
				if len(notified) != 1 || notified[0].KeyID != "key_a" || notified[0].TenantID != 7 {
					t.Errorf("OnBan was called with %+v, want the ban of key_a", notified)
				}
			})
		})
	}
}

func TestStrikesStartAnewAfterABan(t *testing.T) {
	bubble(t, strikes.Options{}, func(t *testing.T, c *strikes.Counter, bans *fakeBans) {
		a := caller("key_a", 60)
		refuse(c, a, 60)
		time.Sleep(15 * time.Minute)
		refuse(c, a, 59)
		bans.want(t, "key_a")
		refuse(c, a, 1)
		bans.want(t, "key_a", "key_a")
	})
}

func TestStrikesExpireAfterFiveMinutes(t *testing.T) {
	bubble(t, strikes.Options{}, func(t *testing.T, c *strikes.Counter, bans *fakeBans) {
		a := caller("key_a", 60)
		refuse(c, a, 30)
		time.Sleep(keys.StrikePeriod - time.Millisecond)
		refuse(c, a, 29)
		time.Sleep(2 * time.Millisecond)
		refuse(c, a, 59)
		bans.want(t)
		time.Sleep(keys.StrikePeriod - time.Millisecond)
		refuse(c, a, 1)
		bans.want(t, "key_a")
	})
}

func TestConcurrentRefusalsPlaceOneBan(t *testing.T) {
	t.Parallel()
	bans := &fakeBans{}
	notified := make(chan keys.Ban, 2000)
	c := strikes.New(strikes.Options{Bans: bans, OnBan: func(b keys.Ban) { notified <- b }})
	defer c.Close()
	a := caller("key_a", 300)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() { refuse(c, a, 20) })
	}
	all.Wait()
	bans.want(t, "key_a")
	if len(notified) == 0 {
		t.Error("OnBan was not called")
	}
}

func TestAClientThatDisconnectsIsBanned(t *testing.T) {
	bubble(t, strikes.Options{}, func(t *testing.T, c *strikes.Counter, bans *fakeBans) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 30 {
			c.Refused(ctx, caller("key_a", 1), time.Now())
		}
		bans.want(t, "key_a")
	})
}

func TestAFailedBanIsRetried(t *testing.T) {
	var log bytes.Buffer
	bubble(t, strikes.Options{Log: zerolog.New(&log)}, func(t *testing.T, c *strikes.Counter, bans *fakeBans) {
		bans.set(true, false)
		a := caller("key_a", 30)
		refuse(c, a, 100)
		if bans.attempts != 1 {
			t.Errorf("%d attempts at once, want 1", bans.attempts)
		}
		if !strings.Contains(log.String(), "can't ban key") {
			t.Errorf("logged: %s", log.String())
		}
		time.Sleep(time.Second)
		bans.set(false, false)
		refuse(c, a, 1)
		bans.want(t, "key_a")
	})
}

func TestAHangingBanStoreDelaysOneRequest(t *testing.T) {
	bubble(t, strikes.Options{}, func(t *testing.T, c *strikes.Counter, bans *fakeBans) {
		bans.set(false, true)
		for i, most := range []time.Duration{500 * time.Millisecond, 0} {
			start := time.Now()
			refuse(c, caller("key_a", 30), 30)
			if took := time.Since(start); took > most {
				t.Errorf("round %d took %v, want at most %v", i, took, most)
			}
		}
	})
}

func TestSharedStrikesAreSentInBatches(t *testing.T) {
	shared := &fakeShared{}
	bubble(t, strikes.Options{OpenShared: shared.open}, func(t *testing.T, c *strikes.Counter, bans *fakeBans) {
		a := caller("key_a", 60)
		refuse(c, a, 59)
		refuse(c, caller("key_b", 60), 3)
		shared.want(t, 0, nil) // No request waits for it.
		time.Sleep(100 * time.Millisecond)
		shared.want(t, 2, map[string]int64{"key_a": 59, "key_b": 3})
		bans.want(t)
		refuse(c, a, 5)
		time.Sleep(100 * time.Millisecond)
		shared.want(t, 3, map[string]int64{"key_b": 3})
		bans.want(t, "key_a")
	})
}

func TestWithoutTheSharedStoreStrikesAreCountedLocally(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]*fakeShared{"down": {down: true}, "hanging": {hangs: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, strikes.Options{OpenShared: shared.open}, func(t *testing.T, c *strikes.Counter, bans *fakeBans) {
				start := time.Now()
				for range 6 {
					refuse(c, caller("key_a", 60), 10)
					time.Sleep(60 * time.Millisecond)
				}
				time.Sleep(time.Until(start.Add(700 * time.Millisecond)))
				shared.want(t, 1, nil) // It is called once a second.
				bans.want(t, "key_a")
				shared.mu.Lock()
				shared.down, shared.hangs = false, false
				shared.mu.Unlock()
				time.Sleep(time.Second)
				refuse(c, caller("key_b", 60), 7)
				time.Sleep(200 * time.Millisecond)
				shared.want(t, 2, map[string]int64{"key_b": 7})
			})
		})
	}
}

func BenchmarkRefused(b *testing.B) {
	shared := &fakeShared{}
	for name, o := range map[string]strikes.Options{"local": {}, "shared": {OpenShared: shared.open}} {
		b.Run(name, func(b *testing.B) {
			o.Bans = &fakeBans{down: true}
			c := strikes.New(o)
			defer c.Close()
			a, now := caller("key_a", 1000), time.Now()
			b.ReportAllocs()
			for b.Loop() {
				c.Refused(b.Context(), a, now)
			}
		})
	}
}
