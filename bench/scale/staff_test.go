package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/bench/servers"
	_ "petstore.example/internal/test/sandbox"
)

// The database of staff fits the present schema, and has what commands are asked for.
func TestStaffDatabase(t *testing.T) {
	t.Parallel()
	postgres, err := servers.StartPostgres(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := postgres.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	e := &env{out: io.Discard, dir: t.TempDir(), postgres: postgres}
	_, err = e.run(t.Context(), part{"staff", func(ctx context.Context, e *env) *table {
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
		if got := s.staffSubject(ctx).Replace("{key}"); !strings.HasPrefix(got, "key_") {
			t.Errorf("the subject's key is %q", got)
		}
		return nil
	}})
	if err != nil {
		t.Error(err)
	}
}

func TestPlansOfALog(t *testing.T) {
	t.Parallel()
	const log = `2026-11-22 16:25:56 UTC [1] LOG:  duration: 0.021 ms  plan:
	{
	  "Query Text": "select 1",
	  "Plan": {
	    "Node Type": "Result"
	  }
	}
2026-11-22 16:25:57 UTC [1] LOG:  duration: 98.763 ms  plan:
	{
	  "Query Text": "select id\nfrom tenants",
	  "Plan": {
	    "Node Type": "Sort",
	    "Plans": [
	      {"Node Type": "Seq Scan", "Relation Name": "tenants"},
	      {"Node Type": "Index Scan", "Relation Name": "api_keys", "Index Name": "api_keys_pkey"},
	      {"Node Type": "Index Scan", "Relation Name": "api_keys", "Index Name": "api_keys_pkey"}
	    ]
	  }
	}
2026-11-22 16:25:58 UTC [2] LOG:  checkpoint starting: time
`
	got, err := parsePlans(log)
	want := explainedPlan{2, "sort, all of tenants, api_keys_pkey"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(explainedPlan{})); err != nil || diff != "" {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
}
