package store_test

import (
	"testing"
	"time"

	"petstore.example/internal/store/billing"
	"petstore.example/internal/test/assert"
)

func TestUsageOfKey(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	a, b, other := db.key(t, 1), db.key(t, 1), db.key(t, 2)
	for _, row := range []struct {
		key      meteredKey
		hours    int
		admitted int64
	}{{a, -1, 1000}, {a, 0, 1}, {a, 1, 2}, {b, 0, 10}, {other, 0, 100}, {a, 2, 4000}} {
		db.exec(t, `select test_usage($1, $2, $3, 'pro', $4::bigint, $4::bigint * 2)`,
			row.key.TenantID, noon.Add(time.Duration(row.hours)*time.Hour), row.key.ID, row.admitted)
	}
	got, err := db.staff.Usage.OfKey(t.Context(), a.TenantID, a.ID, noon, noon.Add(2*time.Hour))
	want := billing.KeyUsage{Admitted: 3, Refused: 6, TenantAdmitted: 13, TenantRefused: 26}
	assert.Result(t, got, err, want)
	if got, err := db.staff.Usage.OfKey(t.Context(), a.TenantID, a.ID, noon.Add(50*time.Hour), noon.Add(60*time.Hour)); err != nil || got != (billing.KeyUsage{}) {
		t.Errorf("of hours without any: %+v, %v", got, err)
	}
}
