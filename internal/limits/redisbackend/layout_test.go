package redisbackend

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
)

// TestLayout: the scripts leave in Redis what layout stands for, byte for byte.
func TestLayout(t *testing.T) {
	t.Parallel()
	client, err := NewClient(redistest.Shared(t), time.Minute)
	assert.NoError(t, err)
	s := New(client)
	t.Cleanup(func() { s.Pin(""); _ = client.Close() })
	fingerprint, err := s.Ping(t.Context())
	assert.NoError(t, err)
	s.Pin(fingerprint)

	const tenantID, minute, day = 42, 29_400_000, 20_416
	var got bytes.Buffer
	note := func(what string, err error) {
		t.Helper()
		assert.NoError(t, err, what)
		fmt.Fprintf(&got, "%s\n", what)
		for _, key := range client.Keys(t.Context(), "*}").Val() {
			if key == pingKey(0) {
				continue
			}
			state := []byte(client.Get(t.Context(), key).Val())
			if intents := len(state) > stateSize && number(state, 9) > 0; intents {
				clear(state[stateSize+numberSize : stateSize+2*numberSize]) // It is the time.
			}
			fmt.Fprintf(&got, "%s\n%s", key, hex.Dump(state))
		}
	}
	take := func(keyID string, perKey, minute, count int64) error {
		r := []distributed.Request{{Minute: minute, Day: day, Count: count, Claim: limits.Claim{
			TenantID: tenantID, Quota: plans.Quota{PerMinute: 60, PerDay: 1000}, KeyID: keyID, KeyPerMinute: perKey,
		}}}
		return s.Take(7, nil, r)
	}
	base := counter.Baseline{Minute: minute, MinuteUsed: 3, Day: day, DayUsed: 900}
	note("initialized", s.InitTenant(t.Context(), 7, tenantID, base, false))
	note("counted", take("", 0, minute, 5))
	note("a key initialized", s.InitKey(t.Context(), 7, tenantID, "key_0123456789abcdef", minute, 2))
	note("counted for it", take("key_0123456789abcdef", 10, minute, 1))
	_, _, err = s.BeginWrite(t.Context(), 7, tenantID)
	note("a write began", err)
	note("the next minute", take("key_ABCDEFGHIJKLMNOP", 10, minute+1, 4))
	note("another key", take("key_0123456789abcdef", 10, minute+1, 4))
	note(
		"given back",
		s.Refund(
			t.Context(),
			7,
			&limits.Claim{TenantID: tenantID, KeyID: "key_0123456789abcdef", KeyPerMinute: 10},
			minute+1,
			day,
			0,
		),
	)
	note("the write ended", s.Take(7, []distributed.WriteIntent{{TenantID: tenantID, Version: 2}}, nil))
	writes := []distributed.Request{{Minute: minute + 1, Day: day, Count: 2, Writes: 1, Claim: limits.Claim{
		TenantID:     tenantID,
		Quota:        plans.Quota{PerMinute: 60, PerDay: 1000},
		KeyID:        "key_ABCDEFGHIJKLMNOP",
		KeyPerMinute: 10,
	}}}
	note("a write began with its count", s.Take(7, nil, writes))
	note("and ended with another", s.Take(7, []distributed.WriteIntent{{TenantID: tenantID, Version: 3}}, nil))
	note("one more minute", take("", 0, minute+2, 1))
	month := []distributed.Request{{Minute: minute + 2, Day: day, Month: 683, Count: 3, Claim: limits.Claim{
		TenantID: tenantID,
		Quota: plans.Quota{
			PerMinute: 60, PerDay: 1000, Month: plans.Month{Kind: plans.SomeMonth, Included: 9},
		},
	}}}
	note("counted in a month", s.Take(7, nil, month))
	note("given back there", s.Refund(t.Context(), 7, &month[0].Claim, minute+2, day, 683))

	golden := filepath.Join("testdata", "layout-"+layout+".txt")
	want, err := os.ReadFile(golden)
	if os.Getenv("UPDATE_LAYOUT") != "" {
		want, err = got.Bytes(), os.WriteFile(golden, got.Bytes(), 0o644)
	}
	if err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%v: Redis has other bytes than %s. If programs of before would read them differently, raise layout; "+
			"then run this test with UPDATE_LAYOUT=1. It has:\n%s", err, golden, &got)
	}
}
