package api

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/diagnose"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

type callerMap map[keys.Digest]keys.Caller

func (m callerMap) Callers(_ context.Context, digests []keys.Digest, _ time.Time) ([]keys.Caller, error) {
	found := make([]keys.Caller, len(digests))
	for i, d := range digests {
		found[i] = m[d]
	}
	return found, nil
}

// TestDiagnosisIsTheAnswer compares the API's error codes with the verdicts of package diagnose,
// for every combination of what can be wrong with a caller: on what the API knows, and on what is
// recorded of the same key.
func TestDiagnosisIsTheAnswer(t *testing.T) {
	t.Parallel()
	known := callerMap{}
	w := newFixture(t, func(c *Config) {
		d := callers.NewDirectory(known, keys.Live, func() time.Time { return c.Instant(time.Time{}) })
		d.FeedProven(time.Now().Add(time.Hour)) // for the whole test
		c.Directory = d
	})
	codes := map[string]int{}
	for bits := range 1 << 7 {
		wrong := func(bit int) bool { return bits>>bit&1 == 1 }
		token, err := keys.NewToken(keys.Live)
		assert.NoError(t, err)
		tenant := plans.Tenant{
			ID:    int64(bits + 1),
			Name:  "acme",
			Plan:  plans.Free,
			Quota: plans.Quota{PerMinute: 100, PerDay: 1000},
		}
		c := keys.Caller{KeyID: fmt.Sprint("key_", bits), Environment: keys.Live, Tenant: &tenant}
		record := diagnose.Record{Now: w.clock(), Key: keys.Key{ID: c.KeyID, Environment: keys.Live}}
		if wrong(0) {
			c.RevokedAt, record.Key.RevokedAt = at.Unix(), at
		}
		if wrong(1) {
			c.ExpiresAt, record.Key.ExpiresAt = at, at
		}
		if wrong(2) {
			tenant.SuspendedAt = at
		}
		if wrong(3) {
			c.Ban = &keys.Ban{Reason: "test", EndsAt: at.Add(time.Hour)}
			record.Bans = []keys.Ban{*c.Ban}
		}
		if wrong(4) {
			tenant.Quota.PerDay = 1
		}
		if wrong(5) {
			tenant.Quota.PerMinute = 1
		}
		if wrong(6) {
			c.PerMinute, record.Key.PerMinute = 1, 1
		}
		known[token.Digest()], record.Tenant, record.UsedToday = c, tenant, 1
		w.limiter.Take(t.Context(), gate.Claim(&c), w.clock()) // Uses up every limit of 1.
		decision := w.limiter.Peek(t.Context(), gate.Claim(&c), w.clock())
		w.failed.all = nil

		rec := w.do(w.request("GET", "/v1/pets", "", "Authorization", "Bearer "+token.Reveal()))
		answer := struct{ Code string }{diagnose.Admitted}
		if rec.Code != 200 {
			assert.NoError(t, json.Unmarshal(rec.Body.Bytes(), &answer))
		}
		record.Failed = w.failed.all
		atOnce, recorded := diagnose.Caller(&c, keys.Live, &decision, w.clock()), record.Verdict()
		if atOnce.Code != answer.Code || recorded.Code != atOnce.Code || recorded.Reason != atOnce.Reason ||
			!recorded.Until.Equal(atOnce.Until) {
			t.Errorf(
				"%07b: the API answers %s, the verdict is %+v, of the record %+v",
				bits,
				answer.Code,
				atOnce,
				recorded,
			)
		}
		codes[answer.Code]++
	}
	assert.Equal(t, len(codes), 5, "answered", codes)
}
