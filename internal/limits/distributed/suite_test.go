package distributed_test

import (
	"testing"

	"petstore.example/internal/limits"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
)

func TestOverRedis(t *testing.T) {
	limitstest.Run(t, func(t testing.TB) limits.Limiter {
		l := newTestCluster().one(t, redistest.Shared(t), patient)
		t.Cleanup(func() {
			assert.True(t, !l.Degraded(), "the limiter lost Redis: this test has shown nothing of it")
		})
		return l
	})
}

func TestOverPostgres(t *testing.T) {
	limitstest.Run(t, func(t testing.TB) limits.Limiter { return newTestCluster().server(t, noRedis, patient) })
}
