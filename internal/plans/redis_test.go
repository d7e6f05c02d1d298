package plans

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/plans/redistest"
)

// slot is the part of a Redis Cluster that holds a key, as the cluster specification has it: CRC16 (XMODEM) of what
// stands between the first braces, modulo 16384.
func slot(key string) uint16 {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}

func TestKeysOfATenantShareASlot(t *testing.T) {
	t.Parallel()
	if got := slot("123456789"); got != 0x31C3 {
		t.Fatalf("slot(123456789) = %#x, the specification has 0x31c3", got)
	}
	slots := map[uint16]bool{}
	for tenantID := range int64(2000) {
		tenant, own := tenantKey(tenantID), ownKey(tenantID, "key_1")
		if slot(tenant) != slot(own) {
			t.Errorf("%s and %s are in different slots", tenant, own)
		}
		slots[slot(tenant)] = true
	}
	if len(slots) < 1700 {
		t.Errorf("2000 tenants fill %d slots: they are not spread", len(slots))
	}
	if got, want := ownKey(42, "key_7"), "pst:{42}:k:key_7"; got != want {
		t.Errorf("ownKey = %s, want %s", got, want)
	}
}

func TestCountersExpire(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t)
	l, client := newWorld().server(t, url, patient), look(t, url)
	c := Claim{TenantID: 1, KeyID: "key_1", Quota: Quota{PerMinute: 60, PerDay: 1000}, KeyPerMinute: 50}
	d := l.Take(t.Context(), c, noon)
	lives := func(what, key string, most time.Duration) {
		t.Helper()
		if ttl := client.TTL(t.Context(), key).Val(); ttl <= most/2 || ttl > most {
			t.Errorf("%s: %s lives %v, want up to %v", what, key, ttl, most)
		}
	}
	lives("counted", tenantKey(1), 40*24*time.Hour)
	lives("counted", ownKey(1, "key_1"), 5*time.Minute)
	beginWrite(t, l).Commit()
	l.Refund(t.Context(), c, d)
	lives("given back", tenantKey(1), 40*24*time.Hour)
	lives("given back", ownKey(1, "key_1"), 5*time.Minute)
	for _, key := range client.Keys(t.Context(), "*").Val() {
		if client.TTL(t.Context(), key).Val() <= 0 {
			t.Errorf("%s lives for ever", key)
		}
	}
}

// TestFloodCostsNoRoundTrips: what Redis refused is refused in this process until something changes.
func TestFloodCostsNoRoundTrips(t *testing.T) {
	t.Parallel()
	url, w := redistest.Shared(t), newWorld()
	l, calls, _ := w.spied(t, url, patient)
	other := w.server(t, url, patient)
	decides(t, l, other)
	eventually(t, "it hears of refunds", func() bool { return l.session.Load() != 0 })
	small, large := Quota{PerMinute: 2, PerDay: 10}, Quota{PerMinute: 3, PerDay: 10}
	asks := func(what string, asked int64, got, want Decision) {
		t.Helper()
		check(t, what, got, want)
		if n := calls.takes.Swap(0); n != asked {
			t.Errorf("%s: %d calls to Redis, want %d", what, n, asked)
		}
	}
	first := l.Take(t.Context(), claim(1, small), noon)
	l.Take(t.Context(), claim(1, small), noon)
	calls.takes.Store(0)
	asks("the first refusal", 1, l.Take(t.Context(), claim(1, small), noon), want(false, 1, small, noon, 2, 2))
	if got := takeN(t, l, 1, small, noon, 1000); got != 0 {
		t.Errorf("%d admitted over the limit", got)
	}
	late := time.Unix(first.Minute.Reset, 0).Add(-1)
	asks("a flood", 0, l.Take(t.Context(), claim(1, small), late), want(false, 1, small, late, 2, 2))
	asks("another plan", 1, l.Take(t.Context(), claim(1, large), noon), want(true, 1, large, noon, 3, 3))
	asks("the plan before", 0, l.Take(t.Context(), claim(1, small), noon), want(false, 1, small, noon, 3, 3))
	l.Refund(t.Context(), Claim{TenantID: 1}, first)
	l.Refund(t.Context(), Claim{TenantID: 1}, first)
	asks("after refunds", 1, l.Take(t.Context(), claim(1, small), noon), want(true, 1, small, noon, 2, 2))
	asks("refused again", 1, l.Take(t.Context(), claim(1, small), noon), want(false, 1, small, noon, 2, 2))
	heard := l.refunds.Load()
	other.Refund(t.Context(), Claim{TenantID: 1}, first)
	eventually(t, "it hears of another server's refund", func() bool { return l.refunds.Load() > heard })
	asks("another server's refund", 1, l.Take(t.Context(), claim(1, small), late), want(true, 1, small, late, 2, 2))
	asks("refused once more", 1, l.Take(t.Context(), claim(1, small), late), want(false, 1, small, late, 2, 2))

	// Without a subscription a second is the most.
	l.session.Store(0)
	asks("deaf", 0, l.Take(t.Context(), claim(1, small), late.Add(1-refusalAge)), want(false, 1, small, late, 2, 2))
	asks("deaf for a second", 1, l.Take(t.Context(), claim(1, small), late.Add(-refusalAge)), want(false, 1, small, late, 2, 2))
}

// A day that is full stays so over the edges of minutes.
func TestFullDayCostsNoRoundTrips(t *testing.T) {
	t.Parallel()
	l, calls, _ := newWorld().spied(t, redistest.Shared(t), patient)
	eventually(t, "it hears of refunds", func() bool { return l.session.Load() != 0 })
	q := Quota{PerMinute: 5, PerDay: 2}
	takeN(t, l, 1, q, noon, 3)
	calls.takes.Store(0)
	for at := noon; DayAt(at) == DayAt(noon); at = at.Add(time.Minute) {
		minuteUsed := int64(2)
		if minuteAt(1, at) != minuteAt(1, noon) {
			minuteUsed = 0
		}
		check(t, at.String(), l.Take(t.Context(), claim(1, q), at), want(false, 1, q, at, minuteUsed, 2))
	}
	if n := calls.takes.Load(); n != 0 {
		t.Errorf("%d calls to Redis for a day that is full", n)
	}
	tomorrow := noon.Add(12 * time.Hour)
	check(t, "tomorrow", l.Take(t.Context(), claim(1, q), tomorrow), want(true, 1, q, tomorrow, 1, 1))
}

func TestNewRedisClient(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for _, url := range []string{
		"", "localhost:6379", "http://" + secret + "@localhost", "redis:" + secret, "redis://:" + secret, "redis://:" + secret + "/x@localhost",
		"redis://u:" + secret + "@localhost:port", "redis://u:" + secret + "@localhost/db", "redis://localhost/?password=" + secret,
		"redis://u:%zz" + secret + "@localhost", "redis://u:" + secret + "@localhost?addr=a:1&nonsense=1", "unix://u:" + secret + "@/tmp/redis",
		"redis://localhost\x7f" + secret,
	} {
		_, err := NewRedisClient(url, 0)
		if !errors.Is(err, ErrRedisURL) {
			t.Errorf("%q: %v, want ErrRedisURL", url, err)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%q: the error shows the password: %v", url, err)
		}
	}

	for url, wantAddr := range map[string]string{
		"redis://localhost":                        "localhost:6379",
		"redis://u:" + secret + "@10.0.0.1:7000/3": "10.0.0.1:7000",
		"rediss://:" + secret + "@redis.example":   "redis.example:6379",
		"redis://[::1]:7000":                       "[::1]:7000",
	} {
		client, err := NewRedisClient(url, 0)
		if err != nil {
			t.Errorf("%q: %v", url, err)
			continue
		}
		o := client.UniversalClient.(*redis.Client).Options()
		if o.Addr != wantAddr || !o.ContextTimeoutEnabled || o.MaxRetries != 0 || (o.TLSConfig != nil) != strings.HasPrefix(url, "rediss") {
			t.Errorf("%q: address %s, %d retries, context's deadline heeded: %v, TLS: %v",
				url, o.Addr, o.MaxRetries, o.ContextTimeoutEnabled, o.TLSConfig != nil)
		}
		_ = client.Close()
	}

	client, err := NewRedisClient("redis://u:"+secret+"@a:1?addr=b:2&addr=c:3", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	cluster, ok := client.UniversalClient.(*redis.ClusterClient)
	if !ok || len(cluster.Options().Addrs) != 3 || cluster.Options().Password != secret {
		t.Errorf("a URL with three nodes made a %T", client)
	}
}
