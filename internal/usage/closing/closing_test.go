package closing_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"

	"petstore.example/internal/usage/closing"
)

func day(n int) time.Time { return time.Date(2026, 10, n, 0, 0, 0, 0, time.UTC) }

// acme is the line of docs/billing.md.
func acme() closing.Line {
	return closing.Line{
		Month: "2026-10", TenantID: 1, Tenant: "acme", Plan: "pro", PerMinute: 300, PerDay: 10000,
		From: day(1), To: day(20).Add(10*time.Hour + 30*time.Minute), Admitted: 44100, Refused: 12,
		Assignment: 7, Version: 2, Kind: "assign", Suspended: 3600, Recorded: sha256.Sum256([]byte("1792490400 key_0000000000000001 44100 12\n")),
	}
}

// The golden values are those of docs/billing.md. They never change: closed months are compared with them years later.
const (
	acmeForm = `{"admitted":44100,"assignment":7,"corrects":null,"from":"2026-10-01T00:00:00Z","kind":"assign","month":"2026-10",` +
		`"per_day":10000,"per_minute":300,"plan":"pro","recorded_sha256":"` + acmeRecorded + `","refused":12,"suspended_seconds":3600,` +
		`"tenant":"acme","tenant_id":1,"to":"2026-10-20T10:30:00Z","version":2,"void":false}`
	acmeRecorded = "06b4574dd76b30d9a03be2a9c43dc4dee7ea6e95ef99b33693e9a009b166d4ee"
	acmeSum      = "d575f7687cecdc492d3b65fcbfdceb1665920e3597e036cc7fec72d35f35cce9"
)

func TestForm(t *testing.T) {
	t.Parallel()
	l := acme()
	form, err := l.Form()
	if err != nil || form != acmeForm {
		t.Errorf("%s, %v\nwant %s", form, err, acmeForm)
	}
	if got := closing.Sum(form).String(); got != acmeSum {
		t.Errorf("SHA-256 %s, want %s", got, acmeSum)
	}
}

// TestParseIsTheInverse: what was sealed is read as it was, and nothing else is taken for a form.
func TestParseIsTheInverse(t *testing.T) {
	t.Parallel()
	correction := acme()
	correction.Corrects, correction.Admitted, correction.Void, correction.Month = "2026-10", -5, true, "2026-11"
	open := acme()
	open.Recorded, open.From, open.To = closing.Hash{}, day(1).Add(123456*time.Microsecond), time.Time{}
	open.Plan, open.PerMinute, open.PerDay, open.Kind = "", 0, 0, ""
	odd := acme()
	odd.Plan = "a\u2028<b>\"\\é\U0001F600"
	for _, l := range []closing.Line{acme(), correction, open, odd} {
		form, err := l.Form()
		if err != nil {
			t.Fatal(err)
		}
		back, err := closing.Parse(form)
		if diff := cmp.Diff(l, back); err != nil || diff != "" {
			t.Errorf("%s (-was +read):\n%s%v", form, diff, err)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "spaces": strings.Replace(acmeForm, ":", ": ", 1), "another member": strings.Replace(acmeForm, "{", `{"a":1,`, 1),
		"a member less": strings.Replace(acmeForm, `"admitted":44100,`, "", 1), "cut": acmeForm[:40], "another order": `{"void":false,` + acmeForm[1:],
		"a short hash": strings.Replace(acmeForm, acmeRecorded, "ab", 1), "text after it": acmeForm + "1", "another time": strings.Replace(acmeForm, "00:00Z", "00:00+00:00", 1),
	} {
		if _, err := closing.Parse(text); err == nil {
			t.Errorf("%s is taken for a canonical form: %s", name, text)
		}
	}
}

func TestFormRefusesWhatJSONRounds(t *testing.T) {
	t.Parallel()
	l := acme()
	l.Admitted = 1 << 53
	if form, err := l.Form(); err == nil {
		t.Errorf("2^53 became %s", form)
	}
	l.Admitted--
	if form, err := l.Form(); err != nil || !strings.Contains(form, "9007199254740991") {
		t.Errorf("2^53-1 became %s, %v", form, err)
	}
}

// seal adds the lines of tenants 1, 2, …: of each as many as are given.
func seal(t *testing.T, s *closing.Seal, lines ...int) (root closing.Hash, tenants int64) {
	t.Helper()
	for i, n := range lines {
		for k := range n {
			if err := s.Add(int64(i+1), fmt.Sprintf("%d/%d", i+1, k)); err != nil {
				t.Fatal(err)
			}
		}
	}
	root, tenants, err := s.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root, tenants
}

// TestRoot: the roots are written out by RFC 6962, section 2.1.
func TestRoot(t *testing.T) {
	t.Parallel()
	sum := func(parts ...string) string {
		h := sha256.Sum256([]byte(strings.Join(parts, "")))
		return string(h[:])
	}
	one, two, three := sum("\x00", "1/0\n1/1\n"), sum("\x00", "2/0\n"), sum("\x00", "3/0\n3/1\n3/2\n")
	for _, tt := range []struct {
		lines []int
		want  string
	}{
		{nil, sum("")},
		{[]int{2}, one},
		{[]int{2, 1}, sum("\x01", one, two)},
		{[]int{2, 1, 3}, sum("\x01", sum("\x01", one, two), three)},
	} {
		root, tenants := seal(t, closing.NewSeal(), tt.lines...)
		if root.String() != hex.EncodeToString([]byte(tt.want)) || tenants != int64(len(tt.lines)) {
			t.Errorf("%v: root %s of %d tenants", tt.lines, root, tenants)
		}
	}
}

func TestSealRefusesAnotherOrder(t *testing.T) {
	t.Parallel()
	s := closing.NewSeal()
	for tenant, want := range map[int64]bool{2: true} {
		if err := s.Add(tenant, "x"); (err == nil) != want {
			t.Error(err)
		}
	}
	if err := s.Add(1, "x"); err == nil {
		t.Error("tenant 1 was added after tenant 2")
	}
}

// TestPaths: the path of every tenant of months of every size up to 33 leads to the root, by the library's verifier; with another leaf,
// index or size it does not.
func TestPaths(t *testing.T) {
	t.Parallel()
	for size := 1; size <= 33; size++ {
		lines := make([]int, size)
		for i := range lines {
			lines[i] = 1 + i%3
		}
		root, _ := seal(t, closing.NewSeal(), lines...)
		for index := range size {
			p, err := closing.NewProver(int64(index), int64(size))
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := seal(t, p.Seal, lines...); again != root {
				t.Fatalf("%d tenants: the prover's root is %s, want %s", size, again, root)
			}
			path, err := p.Path()
			if err != nil {
				t.Fatal(err)
			}
			var forms []string
			for k := range lines[index] {
				forms = append(forms, fmt.Sprintf("%d/%d", index+1, k))
			}
			if err := verify(index, size, closing.Leaf(forms), path, root); err != nil {
				t.Errorf("tenant %d of %d: %v", index, size, err)
			}
			if verify(index, size, closing.Leaf(append(forms, "more")), path, root) == nil {
				t.Errorf("tenant %d of %d: another line is proved", index, size)
			}
			if index+1 < size && verify(index+1, size, closing.Leaf(forms), path, root) == nil {
				t.Errorf("tenant %d of %d: another index is proved", index, size)
			}
		}
	}
	if _, err := closing.NewProver(3, 3); err == nil {
		t.Error("a tenant that is not there has a prover")
	}
}

func verify(index, size int, leaf closing.Hash, path []closing.Hash, root closing.Hash) error {
	hashes := make([][]byte, len(path))
	for i := range path {
		hashes[i] = path[i][:]
	}
	return proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(index), uint64(size), leaf[:], hashes, root[:])
}

func TestProverOfFewerTenants(t *testing.T) {
	t.Parallel()
	p, err := closing.NewProver(0, 4)
	if err != nil {
		t.Fatal(err)
	}
	seal(t, p.Seal, 1, 1)
	if path, err := p.Path(); err == nil {
		t.Errorf("a path of a month with fewer tenants: %v", path)
	}
}

func TestTotal(t *testing.T) {
	t.Parallel()
	total := closing.NewTotal()
	for _, n := range []int64{5, -2} {
		total.Add(&closing.Line{Admitted: n, Refused: 1}, fmt.Sprint(n))
	}
	want := closing.Sums{Lines: 2, Admitted: 3, Refused: 2, SHA256: sha256.Sum256([]byte("5\n-2\n"))}
	if diff := cmp.Diff(want, total.Sums()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	change := func(by func(*closing.Line)) []closing.Line {
		l := acme()
		by(&l)
		return []closing.Line{l}
	}
	correct := func(l *closing.Line) { l.Month, l.Corrects = "2026-11", "2026-10" }
	same := []closing.Line{acme()}
	const name = "the line of tenant 1 (acme) for assignment 7, version 2 of plan pro"
	for _, tt := range []struct {
		name        string
		sealed, now []closing.Line
		want        string
	}{
		{"the same", same, same, ""},
		{"a sum", same, change(func(l *closing.Line) { l.Admitted--; l.Recorded[0]++ }), name + ": admitted was sealed as 44100, and usage_hourly now makes it 44099"},
		{"a sum of days", same, change(func(l *closing.Line) { l.Admitted--; l.Recorded = closing.Hash{} }), name + ": admitted was sealed as 44100, and usage_daily now makes it 44099"},
		{"days in place of hours", same, change(func(l *closing.Line) { l.Recorded = closing.Hash{} }), ""},
		{"another hour", same, change(func(l *closing.Line) { l.Recorded[0]++ }), name + ": the sums are right, but the hours or keys of the requests were changed in usage_hourly"},
		{"a plan", same, change(func(l *closing.Line) { l.Plan = "" }), name + ": plan was sealed as pro, and tenant_plans now makes it none"},
		{"an end", same, change(func(l *closing.Line) { l.To = day(31) }), name + ": to was sealed as 2026-10-20T10:30:00Z, and tenant_plans or plan_versions now makes it 2026-10-31T00:00:00Z"},
		{"a suspension", same, change(func(l *closing.Line) { l.Suspended = 0 }), name + ": suspended_seconds was sealed as 3600, and tenant_suspensions now makes it 0"},
		{"gone", same, nil, name + " is sealed, but what it counts is no longer recorded: see usage_hourly and tenant_plans"},
		{"new", nil, same, name + " is not sealed, but is recorded: see usage_hourly and tenant_plans"},
		{"a correction", change(correct), change(func(l *closing.Line) { correct(l); l.Refused++ }), "the correction of 2026-10 of tenant 1 (acme) for assignment 7, version 2 of plan pro: refused was sealed as 12, and usage_late now makes it 13"},
		{"a void line", nil, change(func(l *closing.Line) { correct(l); l.Void = true }), "the void line of 2026-10 of tenant 1 (acme) for assignment 7, version 2 of plan pro is not sealed, but is recorded: see usage_months, usage_lines and tenant_plans"},
		{"a correction that came later", nil, change(correct), "the correction of 2026-10 of tenant 1 (acme) for assignment 7, version 2 of plan pro is not sealed, but is recorded: see usage_late and tenant_plans"},
	} {
		if got := closing.Compare(tt.sealed, tt.now); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
