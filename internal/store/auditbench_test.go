package store_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"petstore.example/internal/test/storetest"
)

const (
	benchEntries = `insert into audit_entries (claimed_actor, action, tenant_id, subject, before, after, reason)
		select 'jo@support-3', 'plan.assign', 1, 'tenant:1', '{"plan": "pro", "per_day": 10000, "per_minute": 300}',
		       '{"plan": "business", "per_day": 100000, "per_minute": 1000}', 'signed on 20 November' from generate_series(1, $1)`
	unchained = `
		create sequence free_numbers;
		alter table audit_entries disable trigger audit_append, alter column number set default nextval('free_numbers'),
			alter column at set default clock_timestamp(), alter column login set default session_user,
			alter column prev set default sha256(''), alter column hash set default sha256('')`
)

// BenchmarkAuditWriters is how many entries a second 8 writers write, each in a transaction of its own, with the chain and without it.
func BenchmarkAuditWriters(b *testing.B) {
	for name, prepare := range map[string]string{"chain": "select", "no chain": unchained} {
		b.Run(name, func(b *testing.B) {
			db := connect(b, storetest.New(b).URL)
			db.MustExec(prepare)
			b.ResetTimer()
			var left atomic.Int64
			left.Store(int64(b.N))
			var writers sync.WaitGroup
			for range 8 {
				writers.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := db.ExecContext(b.Context(), benchEntries, 1); err != nil {
							b.Error(err)
						}
					}
				})
			}
			writers.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}
