package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/pgtest"
)

func TestTable(t *testing.T) {
	t.Parallel()
	table := &table{head: []string{"n", "µs"}}
	table.add("1,000", spread([]time.Duration{100_000, 90_000, 125_000}, time.Microsecond))
	const want = `| n | µs |
|--:|--:|
| 1,000 | 100 (90.0–125) |
`
	if diff := cmp.Diff(want, table.String()); diff != "" {
		t.Error(diff)
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{0: "0", 0.01234: "0.0123", 1.3: "1.30", 12.34: "12.3", 1234.5: "1234"} {
		if got := significant(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
	for n, want := range map[int]string{7: "7", 1000: "1,000", 10_000_000: "10,000,000"} {
		if got := withCommas(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// With the smallest size each part that is brief has rows.
func TestSmallest(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, name := range []string{"keys", "servers"} {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		table, err := e.run(t.Context(), parts[i])
		if err != nil || len(table.rows) == 0 || len(table.rows[0]) != len(table.head) {
			t.Errorf("%s: %+v, %v", name, table, err)
		}
	}
}

func newEnv(t *testing.T) *env {
	t.Helper()
	postgres, err := pgtest.Start(t.Context(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := postgres.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	e := &env{out: t.Output(), dir: t.TempDir(), postgres: postgres, maxSize: 1_000}
	if !slices.Contains(e.upTo(1_000, 10_000), 1_000) || len(e.upTo(1_000, 10_000)) != 1 {
		t.Error("sizes are not bounded")
	}
	return e
}
