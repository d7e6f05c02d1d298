package report

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// example has three rounds of a baseline that is a row, of one that is not, and of what is compared
// with them, also at a pinned rate.
func example() *Report {
	bare := &Series{Name: "bare_gin", About: "bare", Servers: []string{"Gin"}, Runs: []Run{
		run(1000, 1, 2, 10), run(3000, 1, 2, 20), run(2000, 1, 2, 30),
	}}
	list := &Series{
		Name:     "list",
		About:    "a list",
		Servers:  []string{"petstore", "PostgreSQL"},
		Baseline: bare,
		Runs: []Run{
			run(500, 3, 9, 30, 20), run(600, 1, 7, 10, 20), run(1000, 2, 8, 20, 20),
		},
	}
	pinnedBare, pinnedList := *bare, *list
	pinnedBare.Name, pinnedBare.About, pinnedBare.Rate = "bare_gin@600", "", 600
	pinnedList.Name, pinnedList.Rate, pinnedList.Baseline = "list@600", 600, &pinnedBare
	return &Report{Rounds: 3, Duration: time.Second, Series: []*Series{bare, list, &pinnedBare, &pinnedList}}
}

func run(rps float64, p50, p99 int, cpu ...int) Run {
	r := Run{RPS: rps, P50: 1e3 * float64(p50), P99: 1e3 * float64(p99)}
	for _, micros := range cpu {
		r.CPU = append(r.CPU, time.Duration(micros)*time.Microsecond)
	}
	return r
}

func TestSpread(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values []float64
		want   Spread
	}{
		"none": {nil, Spread{}},
		"one":  {[]float64{7}, Spread{7, 7, 7}},
		"odd":  {[]float64{9, 1, 5}, Spread{5, 1, 9}},
		"even": {[]float64{4, 1, 3, 2}, Spread{2.5, 1, 4}},
	}
	for name, test := range tests {
		if got := spreadOf(test.values); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestWriteResults(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "results")
	if err := example().WriteResults(file); err != nil {
		t.Fatal(err)
	}
	const want = "Benchmarklist 1 600 requests/s 0.300 of-bare 40.0 µs-CPU\n" +
		"Benchmarklist@600 1 2.000 CPU-of-bare 40.0 µs-CPU 8.000 ms-p99\n"
	if diff := cmp.Diff(want, read(t, file)); diff != "" {
		t.Error(diff)
	}
}

// The page has one table, with each row's figures and spread, and one chart.
func TestWriteDocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "benchmarks.md")
	if err := example().WriteDocument(file); err != nil {
		t.Fatal(err)
	}
	got := read(t, file)
	for _, want := range []string{
		"| `bare_gin` | 2000 (1000–3000) |  |  | 20.0 (10.0–30.0) |  | Gin 20.0 | 1.00 | 2.00 | bare |\n",
		// The ratio is of the medians 600 and 2000; in the rounds 500 of 1000, 600 of 3000, 1000 of 2000.
		"| `list` | 600 (500–1000) | `bare_gin` 2000 | 0.30 (0.20–0.50) | 40.0 (30.0–50.0) | 2.00 (1.33–5.00) | " +
			"petstore 20.0, PostgreSQL 20.0 | 2.00 | 8.00 | a list |\n",
		"| `list@600` | 600 (500–1000) | `bare_gin@600` 2000 | 0.30 (0.20–0.50) | 40.0 (30.0–50.0) | " +
			"2.00 (1.33–5.00) | petstore 20.0, PostgreSQL 20.0 | 2.00 | 8.00 | a list |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	if strings.Count(got, "\n|--") != 1 || strings.Count(got, "![") != 1 {
		t.Errorf("it has not one table and one chart:\n%s", got)
	}
	if !strings.Contains(got, "(benchmarks/ratio.svg)") {
		t.Error("it does not show ratio.svg")
	}
	chart := read(t, filepath.Join(dir, "benchmarks", "ratio.svg"))
	if err := xml.Unmarshal([]byte(chart), new(struct{})); err != nil {
		t.Error(err)
	}
	// 1 is 510 pixels wide.
	for _, want := range []string{`width="153.0"`, `M700.0 58`, ">list</text>", ">0.30</text>"} {
		if strings.Count(chart, want) != 1 {
			t.Errorf("the chart has not one %s:\n%s", want, chart)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
