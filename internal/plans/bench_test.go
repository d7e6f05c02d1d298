package plans

import (
	"context"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/plans/redistest"
)

// open is a quota that no benchmark uses up.
var open = Quota{PerMinute: 1 << 40, PerDay: 1 << 41}

func TestMemoryTakeDoesNotAllocate(t *testing.T) {
	m := NewMemory()
	if n := testing.AllocsPerRun(1000, func() { m.Take(t.Context(), claim(1, open), noon) }); n != 0 {
		t.Errorf("%v allocations an admitted request, want none", n)
	}
	full := Quota{PerMinute: 1, PerDay: 1}
	if n := testing.AllocsPerRun(1000, func() { m.Take(t.Context(), claim(1, full), noon) }); n != 0 {
		t.Errorf("%v allocations a refused request, want none", n)
	}
}

func BenchmarkMemoryTake(b *testing.B) {
	m := NewMemory()
	b.ReportAllocs()
	for b.Loop() {
		m.Take(b.Context(), claim(1, open), noon)
	}
}

func BenchmarkMemoryTakeParallel(b *testing.B) {
	m := NewMemory()
	b.ReportAllocs()
	var tenants atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		tenantID := tenants.Add(1)
		for pb.Next() {
			m.Take(context.Background(), claim(tenantID, open), noon)
		}
	})
}

// load is what a benchmark sends: that many callers at once, of that many tenants, each of which works for so long on a request
// before it asks, as a server does that reads it.
type load struct {
	callers int
	tenants int64
	work    time.Duration
	quota   Quota
}

// benchmarkRedis lets callers take from a real Redis, and prints for each request the scripts, and the microseconds of processor
// time of this process, with the callers' work, and of Redis.
func benchmarkRedis(b *testing.B, url string, o load) {
	l, calls, client := newWorld().spied(b, url, RedisOptions{Timeout: patient.Timeout, Wait: patient.Wait})
	for i := range o.tenants {
		l.Take(b.Context(), claim(i, o.quota), noon)
	}
	calls.asked.Store(0)
	calls.takes.Store(0)
	redisUsed, used := redisCPU(b, client, url), ownCPU(b)
	var left, next atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	var callers sync.WaitGroup
	for range o.callers {
		callers.Go(func() {
			c := claim(0, o.quota)
			for left.Add(-1) >= 0 {
				for start := time.Now(); o.work > 0 && time.Since(start) < o.work; {
				}
				if o.tenants > 1 {
					c.TenantID = next.Add(1) % o.tenants
				}
				l.Take(context.Background(), c, noon)
			}
		})
	}
	callers.Wait()
	b.StopTimer()
	n := float64(b.N)
	b.ReportMetric(float64((ownCPU(b)-used).Nanoseconds())/1e3/n, "cpu-µs/op")
	b.ReportMetric(float64((redisCPU(b, client, url)-redisUsed).Nanoseconds())/1e3/n, "redis-µs/op")
	b.ReportMetric(float64(calls.asked.Load())/n, "claims/op")
	b.ReportMetric(float64(calls.takes.Load())/n, "trips/op")
}

func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func redisCPU(b *testing.B, client *RedisClient, url string) (used time.Duration) {
	b.Helper()
	if url == nowhere {
		return 0
	}
	info, err := client.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"used_cpu_user:", "used_cpu_sys:"} {
		seconds, err := strconv.ParseFloat(field(info, name), 64)
		if err != nil {
			b.Fatal(err)
		}
		used += time.Duration(seconds * 1e9)
	}
	return used
}

func BenchmarkRedisTake(b *testing.B) {
	for name, o := range map[string]load{
		"alone":               {1, 1, 0, open},
		"16 callers":          {16, 1, 10 * time.Microsecond, open},
		"64 callers":          {64, 1, 10 * time.Microsecond, open},
		"64 with 256 tenants": {64, 256, 10 * time.Microsecond, open},
		"refused":             {1, 1, 0, Quota{1, 1}},
	} {
		b.Run(name, func(b *testing.B) { benchmarkRedis(b, redistest.Shared(b), o) })
	}
}

func BenchmarkPostgresTake(b *testing.B) { benchmarkRedis(b, nowhere, load{1, 1, 0, open}) }

func BenchmarkAddressesTake(b *testing.B) {
	a := NewAddresses(6000)
	addr := netip.MustParseAddr("2001:db8::1")
	b.ReportAllocs()
	for b.Loop() {
		a.Take(addr, noon)
	}
}
