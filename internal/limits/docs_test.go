package limits_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
)

const docsFile = "../../docs/rate-limiting.md"

// example is what docs/rate-limiting.md says before its worked example, and the example's rows.
type example struct {
	tenantID, second, used int64
	rows                   [][]string
}

func readExample(t *testing.T) example {
	t.Helper()
	text, err := os.ReadFile(docsFile)
	assert.NoError(t, err)
	_, text2, ok := strings.Cut(string(text), "### Example\n")
	assert.True(t, ok, "the document has no example")
	number := func(pattern string) int64 {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text2)
		if m == nil {
			t.Fatalf("the example does not say %s", pattern)
		}
		return atoi(t, m[1])
	}
	e := example{
		tenantID: number(
			`Tenant (\d+) is on Free`,
		),
		second: number(`begin at second (\d+)`),
		used:   number(`has used (\d+) requests`),
	}
	for _, line := range strings.Split(text2, "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 10 && strings.Contains(cells[1], ":") {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			e.rows = append(e.rows, cells[1:9])
		}
		if strings.HasPrefix(line, "## ") {
			break
		}
	}
	return e
}

func atoi(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	assert.NoError(t, err)
	return n
}

// clock reads a time of the example: one that is not after the one before it is on the next day.
func clock(t *testing.T, after time.Time, s string) time.Time {
	t.Helper()
	at, err := time.Parse("15:04:05", s)
	assert.NoError(t, err)
	y, m, d := after.Date()
	at = time.Date(y, m, d, at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
	if !at.After(after) {
		at = at.AddDate(0, 0, 1)
	}
	return at
}

// TestDocumentedExample recomputes the worked example of the document, row by row.
func TestDocumentedExample(t *testing.T) {
	t.Parallel()
	e := readExample(t)
	if len(e.rows) < 8 {
		t.Fatalf("the example has %d rows, want 8", len(e.rows))
	}
	assert.Equal(t, limits.MinuteReset(e.tenantID, -1), e.second, "the document: minutes begin at second")
	quotas := map[string]plans.Quota{"Free": {PerMinute: 60, PerDay: 1000}, "Pro": {PerMinute: 300, PerDay: 10_000}}
	l := limits.NewMemory()
	l.Seed(e.tenantID, limits.DayAt(limitstest.Noon), e.used)
	now := limitstest.Noon
	for _, row := range e.rows {
		now = clock(t, now, row[0])
		var admitted int64
		var d limits.Decision
		for range atoi(t, row[2]) {
			if d = l.Take(t.Context(), limitstest.Claim(e.tenantID, quotas[row[1]]), now); d.Admitted {
				admitted++
			}
		}
		b := d.Binding()
		wait := "–"
		if !d.Admitted {
			wait = strconv.FormatInt(limits.RetryAfter(b.Reset, now), 10)
		}
		got := []string{
			row[0], row[1], row[2], strconv.FormatInt(admitted, 10), strconv.FormatInt(b.Limit, 10),
			strconv.FormatInt(b.Remaining, 10), time.Unix(b.Reset, 0).UTC().Format("15:04:05"), wait,
		}
		if g, w := strings.Join(got, " | "), strings.Join(row, " | "); g != w {
			t.Errorf("the document: | %s |\n it is so: | %s |", w, g)
		}
	}
}

// TestDocumentedTestsExist finds every test that the document names as holding a promise. Those of
// the suite are named limitstest.Name.
func TestDocumentedTestsExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(docsFile)
	assert.NoError(t, err)
	var tests strings.Builder
	for _, dir := range []string{".", "../test/limitstest", "counter", "distributed", "distributed/simtest",
		"redisbackend", "../e2e", "../freshness", "../cluster", "../store/counters"} {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
		assert.NoError(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			assert.NoError(t, err)
			tests.Write(source)
		}
	}
	named := regexp.MustCompile("`(Test|limitstest\\.)([A-Za-z]+)`").FindAllStringSubmatch(string(text), -1)
	assert.True(t, len(named) >= 10, "the document names", len(named), "tests, want 10 or more")
	for _, n := range named {
		declaration := "func Test" + n[2] + "(t *testing.T)"
		if n[1] != "Test" {
			declaration = "\t\"" + n[2] + "\": "
		}
		if !strings.Contains(tests.String(), declaration) {
			t.Errorf("the document names %s%s, which does not exist", n[1], n[2])
		}
	}
}
