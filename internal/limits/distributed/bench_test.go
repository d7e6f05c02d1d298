package distributed_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
)

// load is what a benchmark sends: that many callers at once, of that many tenants, each of which works for so long on a request
// before it takes, like a server that reads it.
type load struct {
	callers int
	tenants int64
	work    time.Duration
	quota   plans.Quota
}

// benchmarkRedis lets callers take from a real Redis, and prints for each request the scripts, and the microseconds of processor
// time of this process, with the callers' work, and of Redis.
func benchmarkRedis(b *testing.B, url string, o load) {
	l, client := newTestCluster().server(b, url, distributed.Options{Timeout: patient.Timeout, Wait: patient.Wait}), look(b, url)
	for i := range o.tenants {
		l.Take(b.Context(), limitstest.Claim(i, o.quota), limitstest.Noon)
	}
	l.calls.requests.Store(0)
	l.calls.takes.Store(0)
	redisUsed, used := redisCPU(b, client, url), ownCPU(b)
	var left, next atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	var callers sync.WaitGroup
	for range o.callers {
		callers.Go(func() {
			c := limitstest.Claim(0, o.quota)
			for left.Add(-1) >= 0 {
				for start := time.Now(); o.work > 0 && time.Since(start) < o.work; {
				}
				if o.tenants > 1 {
					c.TenantID = next.Add(1) % o.tenants
				}
				l.Take(context.Background(), c, limitstest.Noon)
			}
		})
	}
	callers.Wait()
	b.StopTimer()
	n := float64(b.N)
	b.ReportMetric(float64((ownCPU(b)-used).Nanoseconds())/1e3/n, "cpu-µs/op")
	b.ReportMetric(float64((redisCPU(b, client, url)-redisUsed).Nanoseconds())/1e3/n, "redis-µs/op")
	b.ReportMetric(float64(l.calls.requests.Load())/n, "claims/op")
	b.ReportMetric(float64(l.calls.takes.Load())/n, "trips/op")
}

func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	assert.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func redisCPU(b *testing.B, client redis.UniversalClient, url string) (used time.Duration) {
	b.Helper()
	if url == noRedis {
		return 0
	}
	info, err := client.Info(b.Context(), "cpu").Result()
	assert.NoError(b, err)
	for _, name := range []string{"used_cpu_user:", "used_cpu_sys:"} {
		_, rest, _ := strings.Cut(info, name)
		value, _, _ := strings.Cut(rest, "\r")
		seconds, err := strconv.ParseFloat(value, 64)
		assert.NoError(b, err)
		used += time.Duration(seconds * 1e9)
	}
	return used
}

func BenchmarkRedisTake(b *testing.B) {
	for name, o := range map[string]load{
		"alone":               {1, 1, 0, unlimited},
		"16 callers":          {16, 1, 10 * time.Microsecond, unlimited},
		"64 callers":          {64, 1, 10 * time.Microsecond, unlimited},
		"64 with 256 tenants": {64, 256, 10 * time.Microsecond, unlimited},
		"refused":             {1, 1, 0, plans.Quota{PerMinute: 1, PerDay: 1}},
	} {
		b.Run(name, func(b *testing.B) { benchmarkRedis(b, redistest.Shared(b), o) })
	}
}

func BenchmarkPostgresTake(b *testing.B) { benchmarkRedis(b, noRedis, load{1, 1, 0, unlimited}) }
