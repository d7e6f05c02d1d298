package main

import (
	"context"
	"strings"
	"testing"

	"petstore.example/bench/servers"
	_ "petstore.example/internal/test/sandbox"
)

// The database of staff fits the present schema, and has what commands are asked for.
func TestStaffDatabase(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	_, err := e.run(t.Context(), part{"staff", func(ctx context.Context, e *env) *table {
		s := newStaffBench(ctx, e, 1_000)
		for query, want := range map[string]int{
			"select count(*) from api_keys": 1_000, "select max(number) from audit_entries": 10_000,
			"select count(*) from pg_indexes where indexname in ('api_keys_by_last4', 'failed_requests_by_request', " +
				"'usage_hourly_by_hour')": 3,
		} {
			if got, err := servers.Value[int](ctx, s.owner, query); got != want || err != nil {
				t.Errorf("%s: %d, %v, want %d", query, got, err, want)
			}
		}
		if got := s.subject(ctx).Replace("{key}"); !strings.HasPrefix(got, "key_") {
			t.Errorf("the subject's key is %q", got)
		}
		return nil
	}})
	if err != nil {
		t.Error(err)
	}
}
