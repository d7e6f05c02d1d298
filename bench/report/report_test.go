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

// example has three rounds of a baseline and a case.
func example() *Report {
	baseline := &Series{Name: "bare_gin", About: "bare.", Servers: []string{"Gin"}, Runs: []Run{
		run(1000, 1, 2, 10), run(3000, 1, 2, 20), run(2000, 1, 2, 30),
	}}
	memory := &Series{Name: "list_memory", About: "in memory.", Servers: []string{"petstore", "PostgreSQL"},
		Goal: Goal{Ratio: .3, CPU: 39}, Against: "bare_gin", Baseline: baseline, Runs: []Run{
			run(500, 3, 9, 30, 20), run(600, 1, 7, 10, 20), run(1000, 2, 8, 20, 20),
		}}
	return &Report{Rounds: 3, Duration: time.Second, Series: []*Series{baseline, memory}}
}

// pinnedExample has the same runs at a rate that they held, and a case that did not.
func pinnedExample() []*Series {
	s := example().Series
	s[0].Name, s[0].Rate = "bare_gin@600", 600
	s[1].Name, s[1].Rate, s[1].Goal = "list_memory@600", 600, Goal{CPURatio: 1.7}
	missed := &Series{
		Name:     "stock@600",
		Rate:     600,
		Servers:  s[0].Servers,
		Baseline: s[0],
		Runs:     []Run{run(500, 1, 2, 10)},
	}
	return append(
		s,
		missed,
		&Series{
			Name:     "stock@20000",
			Rate:     20_000,
			Goal:     Goal{CPURatio: .5, P99Ratio: 1.15},
			Servers:  s[0].Servers,
			Baseline: s[0],
		},
	)
}

func run(rps float64, p50, p99 int, cpu ...int) Run {
	r := Run{
		RPS:    rps,
		P50:    time.Duration(p50) * time.Millisecond,
		P99:    time.Duration(p99) * time.Millisecond,
		Others: .25,
	}
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

func TestSeries(t *testing.T) {
	t.Parallel()
	memory := example().Series[1]
	type figures struct{ RPS, Ratio, CPU, P50, P99 Spread }
	got := figures{memory.RPS(), memory.Ratio(), memory.CPU(), memory.P50(), memory.P99()}
	want := figures{
		RPS: Spread{600, 500, 1000},
		// Of the medians 600 and 2000; in the rounds 500 of 1000, 600 of 3000, 1000 of 2000.
		Ratio: Spread{.3, .2, .5},
		CPU:   Spread{40, 30, 50}, P50: Spread{2, 1, 3}, P99: Spread{8, 7, 9},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	shares := []Share{{"petstore", Spread{20, 10, 30}}, {"PostgreSQL", Spread{20, 20, 20}}}
	if diff := cmp.Diff(shares, memory.Shares()); diff != "" {
		t.Error(diff)
	}
}

func TestWriteResults(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "results.json")
	if err := example().WriteResults(file); err != nil {
		t.Fatal(err)
	}
	const atMost = `
    {
      "name": "list_memory",
      "ratio": 0.3,
      "rps": 600,
      "baseline_rps": 2000,
      "cpu_us": 40,
      "p50_ms": 2,
      "p99_ms": 8,
      "runs": 3
    }`
	if diff := cmp.Diff("{\n  \"cases\": ["+atMost+"\n  ]\n}\n", read(t, file)); diff != "" {
		t.Error(diff)
	}
	// A run of other cases keeps it.
	r := &Report{Pinned: pinnedExample()[1:2], Partial: true}
	if err := r.WriteResults(file); err != nil {
		t.Fatal(err)
	}
	const pinned = `
    {
      "name": "list_memory@600",
      "rps": 600,
      "cpu_us": 40,
      "cpu_ratio": 2,
      "cpu_us_of": {
        "PostgreSQL": 20,
        "petstore": 20
      },
      "p50_ms": 2,
      "p99_ms": 8,
      "runs": 3
    }`
	if diff := cmp.Diff("{\n  \"cases\": ["+atMost+","+pinned+"\n  ]\n}\n", read(t, file)); diff != "" {
		t.Error(diff)
	}
}

func TestWriteDocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "benchmarks.md")
	r := example()
	r.Pinned = pinnedExample()
	if err := r.WriteDocument(file); err != nil {
		t.Fatal(err)
	}
	got := read(t, file)
	for _, want := range []string{
		"| `bare_gin` | 2000 (1000–3000) | 20.0 (10.0–30.0) | 1.00 | 2.00 | 3 |\n",
		"| `list_memory` | 600 (500–1000) | `bare_gin` | 0.30 (0.20–0.50) | 0.30 | 40.0 (30.0–50.0) | 39 | 2.00 | " +
			"2.00 | 8.00 | 3 | missed |\n",
		"| in memory. | petstore 20.0, PostgreSQL 20.0 |\n",
		"| `bare_gin@600` | 20.0 (10.0–30.0) |  |  | 20.0 | 1.00 (1.00–1.00) |  | 1.00 | 2.00 | 0.00 | 1.00 " +
			"(1.00–1.00) |  |  |\n",
		"| `list_memory@600` | 20.0 (10.0–30.0) |  | 20.0 | 40.0 | 2.00 (1.33–5.00) | 1.70 | 2.00 | 8.00 | 0.00 | " +
			"4.00 (3.50–4.50) |  | missed |\n",
		"| `stock@600` |  |  |  |  |  |  |  |  |  |  |  | not held: 500 |\n",
		"| `stock@20000` |  |  |  |  |  | 0.50 |  |  |  |  | 1.15 | not measured |\n",
		"25 % of the machine",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	for _, name := range []string{"ratio.svg", "cpu.svg", "pinned.svg"} {
		if !strings.Contains(got, "(benchmarks/"+name+")") {
			t.Errorf("it does not show %s", name)
		}
		if err := xml.Unmarshal([]byte(read(t, filepath.Join(dir, "benchmarks", name))), new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A goal can be met and missed.
func TestVerdict(t *testing.T) {
	t.Parallel()
	for want, goals := range map[string][]Goal{
		"":    {{}},
		"met": {{Ratio: .3}, {CPU: 40}, {Ratio: .3, CPU: 40}, {CPURatio: 2, P99Ratio: 4}},
		"missed": {{Ratio: .31}, {CPU: 39}, {Ratio: .3, CPU: 39}, {Ratio: .31, CPU: 40}, {CPURatio: 1.99},
			{P99Ratio: 3.99}},
	} {
		for _, goal := range goals {
			s := example().Series[1]
			s.Goal = goal
			if got := s.Verdict(); got != want {
				t.Errorf("%+v: %q, want %q", goal, got, want)
			}
		}
	}
}

func TestChart(t *testing.T) {
	t.Parallel()
	c := Chart{Title: "a < b", Format: "%.1f", Bars: []Bar{
		{Name: "first", Parts: []Part{{"x", 1}, {"y", 3}}, Mark: 2},
		{Name: "second", Parts: []Part{{"y", 1}}},
	}}
	text := c.SVG()
	for _, want := range []string{
		"<title>a &lt; b</title>",
		// 4 is 510 pixels wide
		`<rect class="p0" x="190.0" y="64" width="127.5"`, `<rect class="p1" x="317.5" y="64" width="382.5"`,
		`<path class="mark" d="M445.0 64`, `<rect class="p1" x="190.0" y="88" width="127.5"`, ">4.0</text>",
		">second</text>",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it lacks %s:\n%s", want, text)
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
