package e2e_test

import (
	"testing"
	"time"

	"petstore.example/internal/plans"
)

// TestRetryAfterIsExact: a request sent Retry-After seconds after a 429 is admitted, and so is one sent at X-RateLimit-Reset. One sent a
// second earlier is denied.
func TestRetryAfterIsExact(t *testing.T) {
	t.Parallel()
	for name, redis := range map[string]bool{"memory": false, "redis": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t, redis)
			s := d.serve()
			tn := d.tenantWithin(s, plans.Enterprise, &plans.Quota{PerMinute: 20, PerDay: 1000}, 1, 4*time.Second, 12*time.Second)
			token := tn.keys[0].token
			for range tn.Quota.PerMinute - tn.used {
				if a := d.patient.get(s, token, "/pets"); a.status != 200 {
					t.Fatalf("within the limit: %v", a)
				}
			}
			// Early in a second, so that one second before the reset is clearly before it.
			time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1200 * time.Millisecond)))
			refused := d.patient.get(s, token, "/pets")
			wait, reset := refused.integer("Retry-After"), time.Unix(refused.integer("X-RateLimit-Reset"), 0)
			if refused.code != "rate_limit_exceeded" || wait < 1 {
				t.Fatalf("over the limit: %v", refused)
			}
			early := refused.sent.Add(time.Duration(wait-1) * time.Second)
			time.Sleep(time.Until(early)) // just before the promised instant
			if a := d.patient.get(s, token, "/pets"); a.code != "rate_limit_exceeded" || a.integer("Retry-After") != 1 {
				t.Errorf("a second early: %v, Retry-After %s, want a refusal and 1", a, a.header.Get("Retry-After"))
			}
			time.Sleep(time.Until(reset)) // the promised instant
			atReset := d.patient.get(s, token, "/pets")
			time.Sleep(time.Until(refused.got.Add(time.Duration(wait) * time.Second))) // as Retry-After says
			afterWait := d.patient.get(s, token, "/pets")
			t.Logf("429 with Retry-After %d; a second early 429; at the reset (%v after it) %d; after Retry-After %d",
				wait, atReset.sent.Sub(reset).Round(time.Millisecond), atReset.status, afterWait.status)
			if atReset.status != 200 || afterWait.status != 200 {
				t.Errorf("at the reset: %v; after Retry-After: %v; want 200", atReset, afterWait)
			}
		})
	}
}
