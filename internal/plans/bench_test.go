package plans

import (
	"context"
	"net/netip"
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

// What the limiter adds to go-redis's own: the deadline, two keys, and the arguments.
func TestRedisTakeAllocatesLittle(t *testing.T) {
	l := newRedis(t, redistest.Shared(t), patient)
	ctx := context.Background()
	keys := []string{minuteKey(1, minuteAt(1, noon)), dayKey(1, DayAt(noon))}
	args := []any{open.PerMinute, open.PerDay}
	bare := testing.AllocsPerRun(200, func() {
		if err := takeScript.Run(ctx, l.client, keys, args...).Err(); err != nil {
			t.Fatal(err)
		}
	})
	whole := testing.AllocsPerRun(200, func() { l.Take(ctx, claim(1, open), noon) })
	if whole > bare+16 {
		t.Errorf("%v allocations a request, %v of them go-redis's own", whole, bare)
	}
	t.Logf("%v allocations a request, %v of them go-redis's own", whole, bare)
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

func BenchmarkRedisTake(b *testing.B) {
	l := newRedis(b, redistest.Shared(b), RedisOptions{})
	b.ReportAllocs()
	for b.Loop() {
		l.Take(b.Context(), claim(1, open), noon)
	}
}

func BenchmarkRedisTakeParallel(b *testing.B) {
	l := newRedis(b, redistest.Shared(b), RedisOptions{})
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.Take(context.Background(), claim(1, open), noon)
		}
	})
}

func BenchmarkRedisTakeDegraded(b *testing.B) {
	server := redistest.New(b)
	server.Stop()
	l := newRedis(b, server.URL, RedisOptions{})
	b.ReportAllocs()
	for b.Loop() {
		l.Take(b.Context(), claim(1, open), noon)
	}
}

func BenchmarkAddressesTake(b *testing.B) {
	a := NewAddresses(6000)
	addr := netip.MustParseAddr("2001:db8::1")
	b.ReportAllocs()
	for b.Loop() {
		a.Take(addr, noon)
	}
}
