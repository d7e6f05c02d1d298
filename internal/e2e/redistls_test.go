package e2e_test

import (
	"strings"
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

// TestRedisOverTLS: limits are counted in a Redis that is reached by TLS. With a certificate that
// can't be trusted they are counted in Postgres, and the log says why.
func TestRedisOverTLS(t *testing.T) {
	t.Parallel()
	redis, url, ca := redistest.NewTLS(t, "127.0.0.1")
	_, misnamed, misnamedCA := redistest.NewTLS(t, "redis.example")
	d := newDeployment(t, false)
	for name, tt := range map[string]struct{ url, ca, says string }{
		"right":                   {url, ca, ""},
		"certificate for another": {misnamed, misnamedCA, "x509: "},
		"unknown authority":       {url, misnamedCA, "x509: certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			s := d.in(t).launch("PETSTORE_REDIS_URL="+tt.url, "PETSTORE_REDIS_TIMEOUT=2s", "SSL_CERT_FILE="+tt.ca)
			tn := d.tenant(plans.Free, nil, 1)
			a := d.patient.get(s, tn.keys[0].token, "/pets")
			assert.Equal(t, a.status, 200, a)
			if tt.says == "" {
				awaitRedis(t, "up", s)
				assert.Contains(t, ofRedis(t, redis.Addr, "INFO", "keyspace"), "db0:keys=", "Redis has no counters")
				return
			}
			if r := s.Ready(); r.Redis != "down" || r.HTTP != 200 {
				t.Errorf("/readyz %+v, want Redis down", r)
			}
			wait.Until(
				t,
				"a line that says "+tt.says,
				func() bool { return s.Logged("limits: degraded", tt.says) == 1 },
			)
			for line := range strings.Lines(s.Stderr()) {
				if strings.Contains(line, "limits: degraded") {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
}
