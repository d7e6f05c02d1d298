package strikes_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/keys"
	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// fakeBans is a strikes.BanStore in memory that can be down or hang.
type fakeBans struct {
	mu          sync.Mutex
	bans        []keys.Ban
	attempts    int
	down, hangs bool
}

func (b *fakeBans) PlaceAutomaticBan(ctx context.Context, tenantID int64, keyID string) (keys.Ban, error) {
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
		if ban.KeyID == keyID && ban.InForce(time.Now()) {
			return ban, nil
		}
	}
	ban := keys.Ban{TenantID: tenantID, KeyID: keyID, EndsAt: time.Now().Add(15 * time.Minute)}
	b.bans = append(b.bans, ban)
	return ban, nil
}

func (*fakeBans) NextBan(context.Context, string, time.Time) (time.Duration, error) {
	return 15 * time.Minute, nil
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
	assert.DeepEqual(t, b.banned(), want, "banned")
}

func caller(keyID string, perMinute int64) *keys.Caller {
	return &keys.Caller{KeyID: keyID, Tenant: &plans.Tenant{ID: 7, Quota: plans.Quota{PerMinute: perMinute}}}
}

// refuse refuses requests, in windows that begin with the minutes of the clock.
func refuse(c *strikes.Counter, caller *keys.Caller, times int) {
	for range times {
		c.Refused(context.Background(), caller, time.Now().Unix()/60, time.Now())
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

func TestOneRefusalTooManyBans(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		perMinute, own int64
		most           int
	}{{1, 0, 1000}, {60, 0, 1000}, {100, 0, 1000}, {101, 0, 1010}, {300, 0, 3000}, {300, 50, 1000}, {300, 5000, 3000},
		{math.MaxInt64, 200, 2000}} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			var notified []keys.Ban
			o := strikes.Options{OnBan: func(b keys.Ban) { notified = append(notified, b) }}
			bubble(t, o, func(t *testing.T, c *strikes.Counter, bans *fakeBans) {
				a, b := caller("key_a", test.perMinute), caller("key_b", test.perMinute)
				a.PerMinute, b.PerMinute = test.own, test.own
				refuse(c, b, test.most)
				refuse(c, a, test.most)
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

// TestEachWindowCountsAnew, and so does the time after a ban.
func TestEachWindowCountsAnew(t *testing.T) {
	bubble(t, strikes.Options{}, func(t *testing.T, c *strikes.Counter, bans *fakeBans) {
		a := caller("key_a", 60)
		for range 5 {
			refuse(c, a, 1000)
			time.Sleep(time.Minute)
		}
		bans.want(t)
		minute := time.Now().Unix() / 60
		for range 1001 { // Its window may begin later than the minute of the clock.
			c.Refused(t.Context(), a, minute, time.Now())
			time.Sleep(100 * time.Millisecond)
		}
		bans.want(t, "key_a")
		time.Sleep(15 * time.Minute)
		refuse(c, a, 1000)
		bans.want(t, "key_a")
		refuse(c, a, 1)
		bans.want(t, "key_a", "key_a")
	})
}

func TestConcurrentRefusalsPlaceOneBan(t *testing.T) {
	t.Parallel()
	bans := &fakeBans{}
	notified := make(chan keys.Ban, 4000)
	c := strikes.New(strikes.Options{Bans: bans, OnBan: func(b keys.Ban) { notified <- b }})
	defer c.Close()
	a := caller("key_a", 300)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() { refuse(c, a, 50) })
	}
	all.Wait()
	bans.want(t, "key_a")
	assert.True(t, len(notified) != 0, "OnBan was not called")
}

func TestAClientThatDisconnectsIsBanned(t *testing.T) {
	bubble(t, strikes.Options{}, func(t *testing.T, c *strikes.Counter, bans *fakeBans) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 1001 {
			c.Refused(ctx, caller("key_a", 1), 1, time.Now())
		}
		bans.want(t, "key_a")
	})
}

func TestAFailedBanIsRetried(t *testing.T) {
	var log bytes.Buffer
	bubble(t, strikes.Options{Log: zerolog.New(&log)}, func(t *testing.T, c *strikes.Counter, bans *fakeBans) {
		bans.set(true, false)
		a := caller("key_a", 30)
		refuse(c, a, 1100)
		assert.Equal(t, bans.attempts, 1, "attempts at once")
		assert.Contains(t, log.String(), "can't ban key", "logged")
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
			refuse(c, caller("key_a", 30), 1001)
			took := time.Since(start)
			assert.True(t, took <= most, "round", i, "took", took, "want at most", most)
		}
	})
}
