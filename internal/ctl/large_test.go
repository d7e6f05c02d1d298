package ctl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

// maxMemory is the most memory that a command needs for a month of any size. Most of it is the Go
// program itself.
const maxMemory = 64 << 20

// TestLargeMonth exports, closes and verifies a month in memory that does not grow with it. With
// PETSTORE_SOAK it has 20 million rows of usage and 300,000 lines.
func TestLargeMonth(t *testing.T) {
	t.Parallel()
	tenants := 200
	if os.Getenv("PETSTORE_SOAK") != "" {
		tenants = 200_000
	}
	const rowsOfTenant = 100
	lines := tenants + tenants/2
	url := storetest.New(t).URL
	execSQL(t, url, fmt.Sprintf(`
		set session_replication_role = replica; -- without the checks of references, which would take most of the time
		insert into tenants (name, created_at) select 'tenant-' || n, '2025-09-01Z' from generate_series(1, %[1]d) n;
		insert into tenant_plans (tenant_id, valid_from, plan) select n, '2025-09-01Z', 'pro' from generate_series(1,
			%[1]d) n;
		insert into tenant_plans (tenant_id, valid_from, plan) select n, '2025-10-03Z', 'business' from
			generate_series(1, %[1]d, 2) n;
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_' || lpad(n::text, 16, '0'), n, 'live', sha256(n::text::bytea), '0001', '2025-09-01Z' from
			generate_series(1, %[1]d) n;
		insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
		select n, timestamptz '2025-10-01Z' + h * interval '1 hour', 'key_' || lpad(n::text, 16, '0'), n, 1, n + h, h
		from generate_series(1, %[1]d) n, generate_series(1, %[2]d) h;
		analyze`, tenants, rowsOfTenant))
	month := []string{"--month", "2025-10", "-o", "jsonl"}
	for _, args := range [][]string{
		append([]string{"export"}, month...), {"close", "--month", "2025-10"}, append([]string{"export"}, month...),
		{"verify", "--month", "2025-10"},
	} {
		began := time.Now()
		printed, memory := runMeasured(t, url, append([]string{"usage"}, args...))
		took := time.Since(began)
		t.Logf(
			"usage %s: %v, %.0f MB at most, %s rows a second",
			args[0],
			took.Round(time.Millisecond),
			float64(memory)/(1<<20),
			output.Thousands(int64(float64(tenants*rowsOfTenant)/took.Seconds())),
		)
		assert.True(t, memory <= maxMemory, "usage", args[0], "needed", memory>>20, "MB")
		if args[0] == "export" && printed != lines+1 {
			t.Errorf("%d lines were exported, want %d and the total", printed, lines)
		}
	}
}

// runMeasured runs petstorectl, without the race detector, which doubles its memory, and returns
// how many lines it printed, and the most memory that it had, in bytes.
func runMeasured(t *testing.T, url string, args []string) (lines int, memory int64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "status")
	var stdout lineCounter
	var stderr strings.Builder
	cmd := sandbox.Command(t, "petstorectl", args...)
	cmd.Env = append(
		cmd.Env,
		"PETSTORE_DATABASE_URL="+url,
		"PETSTORE_ACTOR=test",
		"GORACE=atexit_sleep_ms=0",
		"TEST_MEMORY_FILE="+file,
	)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, stderr.String())
	}
	status, err := os.ReadFile(file)
	assert.NoError(t, err)
	var kilobytes int64
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	_, err = fmt.Sscan(peak, &kilobytes)
	assert.NoError(t, err, "no peak of memory in", status)
	return int(stdout), kilobytes << 10
}

// lineCounter counts lines that are written.
type lineCounter int

func (c *lineCounter) Write(p []byte) (int, error) {
	*c += lineCounter(strings.Count(string(p), "\n"))
	return len(p), nil
}

// TestLargeList prints 60,000 keys, with PETSTORE_SOAK 600,000, in memory that does not grow with
// their number.
func TestLargeList(t *testing.T) {
	t.Parallel()
	rows := 60_000
	if os.Getenv("PETSTORE_SOAK") != "" {
		rows = 600_000
	}
	url := storetest.New(t).URL
	execSQL(t, url, fmt.Sprintf(`
		set session_replication_role = replica; -- without the checks of references, which would take most of the time
		insert into tenants (name, created_at) select 'tenant-' || n, '2025-09-01Z' from generate_series(1, %[1]d /
			10) n;
		insert into api_keys (id, tenant_id, name, environment, digest, last4, created_at)
		select 'key_' || lpad(n::text, 16, '0'), 1 + n %% (%[1]d / 10), 'nightly', 'live', sha256(n::text::bytea),
			'0001', '2025-09-01Z' from generate_series(1, %[1]d) n;
		analyze tenants, api_keys`, rows))
	lines, memory := runMeasured(t, url, []string{"key", "list", "-o", "jsonl"})
	t.Logf("%.0f MB at most", float64(memory)/(1<<20))
	assert.Equal(t, lines, rows, "lines")
	if memory > 48<<20 { // 65 MB, if 60,000 rows were collected
		t.Errorf("needed %d MB", memory>>20)
	}
}
