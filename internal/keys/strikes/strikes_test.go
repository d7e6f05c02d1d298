package strikes_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
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

// banTable keeps bans in memory as strikes.BanStore asks for. It can be away, and it can hang.
type banTable struct {
	mu    sync.Mutex
	bans  []keys.Ban
	tries int
	away  bool
	hangs bool
}

func (b *banTable) PlaceAutomaticBan(ctx context.Context, tenantID int64, keyID string, now time.Time) (keys.Ban, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tries++
	if b.hangs {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return keys.Ban{}, fmt.Errorf("%w: %w", keys.ErrUnavailable, err)
	}
	if b.away {
		return keys.Ban{}, keys.ErrUnavailable
	}
	for _, ban := range b.bans {
		if ban.KeyID == keyID && now.Before(ban.EndsAt) {
			return ban, nil
		}
	}
	ban := keys.Ban{TenantID: tenantID, KeyID: keyID, StartsAt: now, EndsAt: now.Add(15 * time.Minute)}
	b.bans = append(b.bans, ban)
	return ban, nil
}

func (b *banTable) banned() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for _, ban := range b.bans {
		ids = append(ids, ban.KeyID)
	}
	return ids
}

func (b *banTable) tried() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tries
}

func caller(keyID string, perMinute int64) *keys.Caller {
	return &keys.Caller{KeyID: keyID, Tenant: &plans.Tenant{ID: 7, Quota: plans.Quota{PerMinute: perMinute}}}
}

func refuse(s *strikes.Counter, c *keys.Caller, times int) {
	for range times {
		s.Refused(context.Background(), c, time.Now())
	}
}

func expectBanned(t *testing.T, b *banTable, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, b.banned()); diff != "" {
		t.Errorf("banned (-want +got):\n%s", diff)
	}
}

func TestTheRefusalThatReachesTheLimitBans(t *testing.T) {
	t.Parallel()
	for perMinute, limit := range map[int64]int{5: 30, 60: 60, 300: 300, 12345: 1000} {
		t.Run(fmt.Sprint(perMinute), func(t *testing.T) {
			t.Parallel()
			bans := &banTable{}
			var told []keys.Ban
			s := strikes.New(strikes.Options{
				Bans: bans, OnBan: func(b keys.Ban) { told = append(told, b) }, Log: zerolog.Nop(),
			})
			defer s.Close()
			a, b := caller("key_a", perMinute), caller("key_b", perMinute)
			refuse(s, b, limit-1)
			refuse(s, a, limit-1)
			expectBanned(t, bans)
			refuse(s, a, 1)
			expectBanned(t, bans, "key_a")
			if len(told) != 1 || told[0].KeyID != "key_a" || told[0].TenantID != 7 {
				t.Errorf("told of %+v, want the ban of key_a", told)
			}
		})
	}
}

func TestStrikesBeginAnewAfterABan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bans := &banTable{}
		s := strikes.New(strikes.Options{Bans: bans, Log: zerolog.Nop()})
		defer s.Close()
		c := caller("key_a", 60)
		refuse(s, c, 60)
		time.Sleep(15 * time.Minute)
		refuse(s, c, 59)
		expectBanned(t, bans, "key_a")
		refuse(s, c, 1)
		expectBanned(t, bans, "key_a", "key_a")
	})
}

func TestStrikesAreForgottenAfterFiveMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bans := &banTable{}
		s := strikes.New(strikes.Options{Bans: bans, Log: zerolog.Nop()})
		defer s.Close()
		c := caller("key_a", 60)
		refuse(s, c, 30)
		time.Sleep(keys.StrikePeriod - time.Millisecond)
		refuse(s, c, 29)
		time.Sleep(2 * time.Millisecond)
		refuse(s, c, 59)
		expectBanned(t, bans)
		time.Sleep(keys.StrikePeriod - time.Millisecond)
		refuse(s, c, 1)
		expectBanned(t, bans, "key_a")
	})
}

func TestConcurrentRefusalsPlaceOneBan(t *testing.T) {
	t.Parallel()
	bans := &banTable{}
	var told atomic.Int64
	s := strikes.New(strikes.Options{
		Bans: bans, OnBan: func(keys.Ban) { told.Add(1) }, Log: zerolog.Nop(),
	})
	defer s.Close()
	c := caller("key_a", 300)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() { refuse(s, c, 20) })
	}
	wg.Wait()
	expectBanned(t, bans, "key_a")
	if told.Load() == 0 {
		t.Error("nobody was told of the ban")
	}
}

func TestWhoHangsUpIsBannedAllTheSame(t *testing.T) {
	t.Parallel()
	bans := &banTable{}
	s := strikes.New(strikes.Options{Bans: bans, Log: zerolog.Nop()})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 30 {
		s.Refused(ctx, caller("key_a", 1), time.Now())
	}
	expectBanned(t, bans, "key_a")
}

func TestABanThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		bans := &banTable{away: true}
		s := strikes.New(strikes.Options{Bans: bans, Log: zerolog.New(&log)})
		defer s.Close()
		c := caller("key_a", 30)
		refuse(s, c, 100)
		if n := bans.tried(); n != 1 {
			t.Errorf("%d attempts within a moment, want 1", n)
		}
		if !strings.Contains(log.String(), "key could not be banned") {
			t.Errorf("the log does not say it: %s", log.String())
		}
		time.Sleep(time.Second)
		bans.mu.Lock()
		bans.away = false
		bans.mu.Unlock()
		refuse(s, c, 1)
		expectBanned(t, bans, "key_a")
	})
}

func TestAHangingStoreHoldsARequestShortly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bans := &banTable{hangs: true}
		s := strikes.New(strikes.Options{Bans: bans, Log: zerolog.Nop()})
		c := caller("key_a", 30)
		began := time.Now()
		refuse(s, c, 30)
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("the request was held for %v", took)
		}
		began = time.Now()
		refuse(s, c, 100)
		if took := time.Since(began); took > 0 {
			t.Errorf("the next were held for %v", took)
		}
		s.Close()
	})
}

// sharedTable is a limiter.Store that servers share. It can be away, and it can hang.
type sharedTable struct {
	limiter.Store // none: other methods are not used
	mu            sync.Mutex
	counts        map[string]int64
	calls         int
	away, hangs   bool
}

func (s *sharedTable) Increment(ctx context.Context, key string, n int64, rate limiter.Rate) (limiter.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.hangs {
		<-ctx.Done()
		return limiter.Context{}, ctx.Err()
	}
	if s.away {
		return limiter.Context{}, context.DeadlineExceeded
	}
	if s.counts == nil {
		s.counts = map[string]int64{}
	}
	s.counts[key] += n
	return limiter.Context{Limit: rate.Limit, Remaining: max(0, rate.Limit-s.counts[key])}, nil
}

func (s *sharedTable) Reset(_ context.Context, key string, _ limiter.Rate) (limiter.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.counts, key)
	return limiter.Context{}, nil
}

// state returns what is counted, and how often the store was asked.
func (s *sharedTable) state() (map[string]int64, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts), s.calls
}

func (s *sharedTable) open() (limiter.Store, error) { return s, nil }

func TestSharedStrikesAreSentInBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bans, shared := &banTable{}, &sharedTable{}
		s := strikes.New(strikes.Options{Bans: bans, OpenShared: shared.open, Log: zerolog.Nop()})
		defer s.Close()
		c := caller("key_a", 60)
		refuse(s, c, 59)
		refuse(s, caller("key_b", 60), 3)
		if _, calls := shared.state(); calls != 0 {
			t.Error("a request waited for the shared store")
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		counts, calls := shared.state()
		if want := map[string]int64{"key_a": 59, "key_b": 3}; !cmp.Equal(counts, want) || calls != 2 {
			t.Errorf("shared in %d calls: %v, want %v in 2", calls, counts, want)
		}
		expectBanned(t, bans)
		refuse(s, c, 5)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		expectBanned(t, bans, "key_a")
		counts, _ = shared.state()
		if want := map[string]int64{"key_b": 3}; !cmp.Equal(counts, want) {
			t.Errorf("left after the ban: %v, want %v", counts, want)
		}
	})
}

func TestWithoutTheSharedStoreStrikesAreCountedHere(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]*sharedTable{"away": {away: true}, "hanging": {hangs: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				bans := &banTable{}
				s := strikes.New(strikes.Options{Bans: bans, OpenShared: broken.open, Log: zerolog.Nop()})
				defer s.Close()
				began := time.Now()
				for range 6 {
					refuse(s, caller("key_a", 60), 10)
					time.Sleep(60 * time.Millisecond)
				}
				time.Sleep(time.Until(began.Add(700 * time.Millisecond)))
				synctest.Wait()
				expectBanned(t, bans, "key_a")
				if _, calls := broken.state(); calls != 1 {
					t.Errorf("the store was asked %d times within a second, want once", calls)
				}
				broken.mu.Lock()
				broken.away, broken.hangs = false, false
				broken.mu.Unlock()
				time.Sleep(time.Second)
				refuse(s, caller("key_b", 60), 7)
				time.Sleep(200 * time.Millisecond)
				synctest.Wait()
				counts, _ := broken.state()
				if want := map[string]int64{"key_b": 7}; !cmp.Equal(counts, want) {
					t.Errorf("shared after its return: %v, want %v", counts, want)
				}
			})
		})
	}
}

func BenchmarkRefused(b *testing.B) {
	shared := &sharedTable{}
	for name, o := range map[string]strikes.Options{"own": {}, "shared": {OpenShared: shared.open}} {
		b.Run(name, func(b *testing.B) {
			o.Bans, o.Log = &banTable{away: true}, zerolog.Nop()
			s := strikes.New(o)
			defer s.Close()
			c, now := caller("key_a", 1000), time.Now()
			b.ReportAllocs()
			for b.Loop() {
				s.Refused(b.Context(), c, now)
			}
		})
	}
}
