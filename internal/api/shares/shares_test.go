package shares

import (
	"testing"

	"petstore.example/internal/test/assert"
)

func TestShares(t *testing.T) {
	t.Parallel()
	b := New(100, 25)
	for _, step := range []struct {
		tenant int64
		bytes  int64
		want   bool
	}{
		{1, 25, true},
		{1, 1, false}, // its share is used up
		{2, 26, false},
		{2, 25, true},
		{3, 25, true},
		{4, 20, true},
		{5, 6, false}, // 95 of 100 are used
		{5, 5, true},
	} {
		assert.Equal(
			t,
			b.Reserve(Holder{TenantID: step.tenant}, step.bytes),
			step.want,
			step.bytes,
			"bytes of tenant",
			step.tenant,
		)
	}
	for tenant, bytes := range map[int64]int64{1: 25, 2: 25, 3: 25, 4: 20, 5: 5} {
		b.Release(Holder{TenantID: tenant}, bytes)
	}
	assert.Equal(t, b.used, 0, "bytes are left")
	assert.Equal(t, len(b.holders), 0, "holders are left")
}
