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
		r := &Redis{server: newServerName()}
		minute, day, batches := minuteKey(tenantID, minuteAt(tenantID, noon)), dayKey(tenantID, DayAt(noon)), r.batchKey(tenantID)
		if slot(minute) != slot(day) || slot(minute) != slot(batches) {
			t.Errorf("%s, %s and %s are in different slots", minute, day, batches)
		}
		slots[slot(minute)] = true
	}
	if len(slots) < 1700 {
		t.Errorf("2000 tenants fill %d slots: they are not spread", len(slots))
	}
	if got, want := minuteKey(42, 29919441), "pst:{42}:m:29919441"; got != want {
		t.Errorf("minuteKey = %s, want %s", got, want)
	}
	if got, want := dayKey(42, 20777), "pst:{42}:d:20777"; got != want {
		t.Errorf("dayKey = %s, want %s", got, want)
	}
}

func TestCountersExpire(t *testing.T) {
	t.Parallel()
	l, client := newRedisClient(t, redistest.Shared(t), patient)
	q := Quota{PerMinute: 60, PerDay: 1000}
	d := l.Take(t.Context(), claim(1, q), noon)
	minute, day := minuteKey(1, d.Minute.Number), dayKey(1, d.Day.Number)
	lives := func(what, key string, most time.Duration) {
		t.Helper()
		if ttl := client.TTL(t.Context(), key).Val(); ttl <= most/2 || ttl > most {
			t.Errorf("%s: %s lives %v, want up to %v", what, key, ttl, most)
		}
	}
	lives("counted", minute, 5*time.Minute)
	lives("counted", day, 48*time.Hour)
	l.Take(t.Context(), claim(1, q), noon)
	l.Refund(t.Context(), Claim{TenantID: 1}, d)
	lives("given back", minute, 5*time.Minute)
	lives("given back", day, 48*time.Hour)
	l.ledger.take(2, q, d.Minute.Number, d.Day.Number, 1)
	l.wakeMender()
	mendedAll(t, l)
	lives("added back", minuteKey(2, d.Minute.Number), 5*time.Minute)
	lives("added back", dayKey(2, d.Day.Number), 48*time.Hour)

	// A counter that has expired does not come back with a refund, which could only have one that lives for ever.
	client.Del(t.Context(), minute, day)
	l.Refund(t.Context(), Claim{TenantID: 1}, d)
	if n := client.Exists(t.Context(), minute, day).Val(); n != 0 {
		t.Errorf("a refund made %d counters anew", n)
	}
	for _, key := range client.Keys(t.Context(), "*").Val() {
		if client.TTL(t.Context(), key).Val() <= 0 {
			t.Errorf("%s lives for ever", key)
		}
	}
}

// TestFloodCostsNoRoundTrips: what Redis refused is refused in this process, until something changes or a second is over.
func TestFloodCostsNoRoundTrips(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t)
	l, client := newRedisClient(t, url, patient)
	other := newRedis(t, url, patient)
	var calls interceptor
	client.AddHook(&calls)
	small, large := Quota{PerMinute: 2, PerDay: 10}, Quota{PerMinute: 3, PerDay: 10}
	asks := func(what string, asked int64, got, want Decision) {
		t.Helper()
		check(t, what, got, want)
		if n := calls.calls.Swap(0); n != asked {
			t.Errorf("%s: %d calls to Redis, want %d", what, n, asked)
		}
	}
	first := l.Take(t.Context(), claim(1, small), noon)
	l.Take(t.Context(), claim(1, small), noon)
	calls.calls.Store(0)
	asks("the first refusal", 1, l.Take(t.Context(), claim(1, small), noon), want(false, 1, small, noon, 2, 2))
	if got := takeN(t, l, 1, small, noon, 1000); got != 0 {
		t.Errorf("%d admitted over the limit", got)
	}
	late := noon.Add(refusalAge - 1)
	asks("a flood", 0, l.Take(t.Context(), claim(1, small), late), want(false, 1, small, late, 2, 2))
	asks("another plan", 1, l.Take(t.Context(), claim(1, large), noon), want(true, 1, large, noon, 3, 3))
	asks("after an admitted one", 1, l.Take(t.Context(), claim(1, small), noon), want(false, 1, small, noon, 3, 3))
	l.Refund(t.Context(), Claim{TenantID: 1}, first)
	l.Refund(t.Context(), Claim{TenantID: 1}, first)
	calls.calls.Store(0)
	asks("after refunds", 1, l.Take(t.Context(), claim(1, small), noon), want(true, 1, small, noon, 2, 2))
	asks("refused again", 1, l.Take(t.Context(), claim(1, small), noon), want(false, 1, small, noon, 2, 2))
	other.Refund(t.Context(), Claim{TenantID: 1}, first)
	asks("another server's refund", 0, l.Take(t.Context(), claim(1, small), late), want(false, 1, small, late, 2, 2))
	late = noon.Add(refusalAge)
	asks("a second later", 1, l.Take(t.Context(), claim(1, small), late), want(true, 1, small, late, 2, 2))
	asks("refused once more", 1, l.Take(t.Context(), claim(1, small), late), want(false, 1, small, late, 2, 2))
	l.changes.Add(2)
	// The counters are raised first to the most that was seen, which refunds do not lower.
	asks("after an outage", 2, l.Take(t.Context(), claim(1, small), late), want(false, 1, small, late, 3, 3))
}

func TestFlushedRedis(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	l := newRedis(t, server.URL, patient)
	q := Quota{PerMinute: 60, PerDay: 1000}
	takeN(t, l, 1, q, noon, 10)
	server.Flush() // takes the script along
	check(t, "then", l.Take(t.Context(), claim(1, q), noon), want(true, 1, q, noon, 1, 1))
	if degraded(l) {
		t.Error("a script that has to be loaded again is no loss of Redis")
	}
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
		o := client.(*redis.Client).Options()
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
	cluster, ok := client.(*redis.ClusterClient)
	if !ok || len(cluster.Options().Addrs) != 3 || cluster.Options().Password != secret {
		t.Errorf("a URL with three nodes made a %T", client)
	}
}
