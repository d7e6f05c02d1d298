package main

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/bench/servers"
)

func TestTable(t *testing.T) {
	t.Parallel()
	table := &table{title: "Things", about: "What it is.", head: []string{"n", "µs"}}
	table.add("1,000", "100")
	table.growth("time", []float64{100, 90, 125}, 1.3)
	table.growth("time", []float64{100, 131}, 1.3)
	table.bound("bytes", 399.9, 400)
	var got bytes.Buffer
	table.markdown(&got)
	const want = `
## Things

What it is.

| n | µs |
|--:|--:|
| 1,000 | 100 |

- time, greatest divided by first: 1.25, at most 1.30: met
- time, greatest divided by first: 1.31, at most 1.30: missed
- bytes: 400, at most 400: met
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
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
	for n, want := range map[int64]string{7: "7", 1000: "1,000", 10_000_000: "10,000,000"} {
		if got := withCommas(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// With the smallest size every part has a row and a verdict.
func TestSmallest(t *testing.T) {
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
	e := &env{out: io.Discard, dir: t.TempDir(), postgres: postgres, maxSize: 1_000, usageRows: 2_000, hurry: 20}
	for _, p := range parts {
		if slices.Contains([]string{"servers", "heartbeats", "fleet", "usage", "simulation", "staff"}, p.name) {
			continue // they take seconds
		}
		table, err := e.run(t.Context(), p)
		if err != nil || len(table.rows) == 0 || len(table.rows[0]) != len(table.head) || len(table.verdicts) == 0 {
			t.Errorf("%s: %+v, %v", p.name, table, err)
		}
	}
}
