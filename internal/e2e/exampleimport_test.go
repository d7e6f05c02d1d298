package e2e_test

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
)

// TestExampleImport: two processes import two halves of a file, a third imports a file with the same
// rows. Each row is added once, however often the programs run. A bad row is reported by its number,
// and costs no other.
func TestExampleImport(t *testing.T) {
	t.Parallel()
	for name, e := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t, true)
			s := d.serve(patientRedis)
			tn := d.tenant(plans.Enterprise, &plans.Quota{PerMinute: 100_000, PerDay: 1_000_000}, 1)
			dir := e.install(t, 4)
			command := func(file string) *exec.Cmd {
				return e.command(t, dir, s.URL, tn.keys[0].token, e.program, file)
			}
			imported := func(want int64, after string) {
				t.Helper()
				n := d.number(`select count(*) from pets where tenant_id = $1`, tn.ID)
				t.Logf("%d animals after %s", n, after)
				assert.Equal(t, n, want, after)
			}

			lines := strings.SplitAfter(names(600), "\n")
			write(t, dir, "one.txt", strings.Join(lines[:300], ""))
			write(t, dir, "two.txt", strings.Join(lines[300:], ""))
			write(t, dir, "second.txt", strings.Join(lines[:300], ""))
			halves := func() {
				var both sync.WaitGroup
				for _, file := range []string{"one.txt", "two.txt"} {
					both.Go(func() {
						out, err := command(file).CombinedOutput()
						assert.NoError(t, err, file, string(out))
						assert.Equal(t, strings.Count(string(out), "added "), 300, file)
					})
				}
				both.Wait()
			}
			halves()
			imported(600, "two processes on two halves")
			halves()
			imported(600, "both again")
			out, err := command("second.txt").CombinedOutput()
			assert.NoError(t, err, string(out))
			imported(900, "a second file with the same rows")

			bad := func(text string, rows ...string) {
				t.Helper()
				write(t, dir, "bad.txt", text)
				out, err := command("bad.txt").CombinedOutput()
				assert.Equal(t, err != nil, len(rows) > 0, string(out))
				for _, row := range rows {
					assert.True(t, strings.Contains(string(out), row), "no "+row+" in", string(out))
				}
			}
			bad("Rex\r\n\nTom\nM\xfcller\nMüller\nAnn", "row 2: 400 validation_failed", "row 4: ")
			imported(904, "a file of six rows, two of them bad")
			bad("Rex\r\nTim\nTom\nMueller\nMüller\nAnn")
			imported(906, "both mended")
		})
	}
}

// TestExampleWaits: docs/clients.md says how many waits a number of requests takes, by the plans of
// docs/rate-limiting.md.
func TestExampleWaits(t *testing.T) {
	t.Parallel()
	number := func(text string) int {
		n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
		assert.NoError(t, err)
		return n
	}
	limits := regexp.MustCompile(`(?m)^\| (?:Free|Pro|Business) \| ([\d,]+) \| ([\d,]+) \|$`).
		FindAllStringSubmatch(programs.Read(t, "../../docs/rate-limiting.md"), -1)
	rows := regexp.MustCompile(`(?m)^\| ([\d,]+) \| ([\w ]+) \| ([\w ]+) \| ([\w ]+) \|$`).
		FindAllStringSubmatch(programs.Read(t, "../../docs/clients.md"), -1)
	assert.Equal(t, len(limits), 3, "plans")
	assert.Equal(t, len(rows), 4, "rows")
	for _, row := range rows {
		for i, limit := range limits {
			requests, perMinute, want := number(row[1]), number(limit[1]), "over the day"
			if requests <= number(limit[2]) {
				want = strconv.Itoa((requests + perMinute - 1) / perMinute)
			}
			assert.Equal(t, row[2+i], want, row[0])
		}
	}
}
