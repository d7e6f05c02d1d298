package ctl

import (
	"fmt"
	"os"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// TestLargeList prints 60,000 keys, with PETSTORE_SOAK 600,000, in memory that does not grow with their number.
func TestLargeList(t *testing.T) {
	t.Parallel()
	rows := 60_000
	if os.Getenv("PETSTORE_SOAK") != "" {
		rows = 600_000
	}
	url := storetest.New(t).URL
	execSQL(t, url, fmt.Sprintf(`
		set session_replication_role = replica; -- without the checks of references, which would take most of the time
		insert into tenants (name, created_at) select 'tenant-' || n, '2025-09-01Z' from generate_series(1, %[1]d / 10) n;
		insert into api_keys (id, tenant_id, name, environment, digest, last4, created_at)
		select 'key_' || lpad(n::text, 16, '0'), 1 + n %% (%[1]d / 10), 'nightly', 'live', sha256(n::text::bytea), '0001', '2025-09-01Z' from generate_series(1, %[1]d) n;
		analyze tenants, api_keys`, rows))
	lines, memory := runMeasured(t, url, []string{"key", "list", "-o", "jsonl"})
	t.Logf("%.0f MB at most", float64(memory)/(1<<20))
	assert.Equal(t, lines, rows, "lines")
	if memory > 48<<20 { // 65 MB, if 60,000 rows were collected
		t.Errorf("needed %d MB", memory>>20)
	}
}
