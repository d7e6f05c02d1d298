package plans

import (
	"context"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"

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

// benchmarkRedis lets that many callers of one tenant, or of many, take from a real Redis, and prints the scripts per request.
func benchmarkRedis(b *testing.B, url string, callers int, tenants int64, q Quota) {
	l, calls, _ := newWorld().spied(b, url, RedisOptions{Timeout: patient.Timeout, Wait: patient.Wait})
	var next atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	if callers == 1 {
		for b.Loop() {
			l.Take(context.Background(), claim(1, q), noon)
		}
	} else {
		b.RunParallel(func(pb *testing.PB) {
			c := claim(next.Add(1)%tenants, q)
			for pb.Next() {
				l.Take(context.Background(), c, noon)
			}
		})
	}
	b.ReportMetric(float64(calls.asked.Load())/float64(b.N), "scripts/op")
	b.ReportMetric(float64(calls.takes.Load())/float64(b.N), "trips/op")
}

func BenchmarkRedisTake(b *testing.B)         { benchmarkRedis(b, redistest.Shared(b), 1, 1, open) }
func BenchmarkRedisTakeParallel(b *testing.B) { benchmarkRedis(b, redistest.Shared(b), 64, 1, open) }
func BenchmarkRedisTake256Tenants(b *testing.B) {
	benchmarkRedis(b, redistest.Shared(b), 64, 256, open)
}
func BenchmarkRedisTakeRefused(b *testing.B) {
	benchmarkRedis(b, redistest.Shared(b), 1, 1, Quota{1, 1})
}
func BenchmarkPostgresTake(b *testing.B) { benchmarkRedis(b, nowhere, 1, 1, open) }

func BenchmarkAddressesTake(b *testing.B) {
	a := NewAddresses(6000)
	addr := netip.MustParseAddr("2001:db8::1")
	b.ReportAllocs()
	for b.Loop() {
		a.Take(addr, noon)
	}
}
