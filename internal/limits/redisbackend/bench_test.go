package redisbackend_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"petstore.example/internal/limits/counter"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
)

// BenchmarkTake prints what a call of take.lua takes Redis, for each claim.
func BenchmarkTake(b *testing.B) {
	for _, claims := range []int{1, 64} {
		for _, perKey := range []int64{0, 1 << 40} {
			b.Run(fmt.Sprintf("claims=%d/key=%v", claims, perKey > 0), func(b *testing.B) {
				url := redistest.New(b).URL
				s, admin := backendAt(b, url), look(b, url)
				requests := make([]distributed.Request, claims)
				for i := range requests {
					c := limitstest.Claim(int64(i), unlimited)
					if perKey > 0 {
						c.KeyID, c.KeyPerMinute = "key_0123456789abcdef", perKey
					}
					requests[i] = distributed.Request{Claim: c, Minute: 1, Count: 1}
					if err := s.InitTenant(b.Context(), 1, int64(i), counter.Baseline{}, false); err != nil {
						b.Fatal(err)
					}
				}
				if err := admin.ConfigResetStat(b.Context()).Err(); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := s.Take(1, nil, requests); err != nil {
						b.Fatal(err)
					}
				}
				_, stats, _ := strings.Cut(admin.Info(b.Context(), "commandstats").Val(), "cmdstat_evalsha:")
				_, stats, _ = strings.Cut(stats, "usec_per_call=")
				stats, _, _ = strings.Cut(stats, ",")
				took, err := strconv.ParseFloat(stats, 64)
				if err != nil || requests[0].Used.Minute == 0 {
					b.Fatal(err, requests[0].Reply)
				}
				b.ReportMetric(took/float64(claims), "redis-µs/claim")
			})
		}
	}
}
