package closing_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage/closing"
)

func day(n int) time.Time { return time.Date(2026, 10, n, 0, 0, 0, 0, time.UTC) }

// acme is the line of docs/billing.md.
func acme() closing.Line {
	included, limit := int64(40000), int64(8000)
	return closing.Line{
		Month:     "2026-10",
		TenantID:  1,
		Tenant:    "acme",
		Plan:      "pro",
		PerMinute: 300,
		PerDay:    10000,
		PerMonth:  &included, OverageLimit: &limit,
		From:       day(1),
		To:         day(20).Add(10*time.Hour + 30*time.Minute),
		Admitted:   44100,
		Refused:    12,
		Overage:    4100,
		Assignment: 7,
		Version:    2,
		Kind:       "assign",
		Suspended:  3600,
		Recorded:   sha256.Sum256([]byte("1792490400 key_0000000000000001 44100 12\n")),
	}
}

// first is the same line in the first format.
func first() closing.Line {
	l := acme()
	l.First, l.PerMonth, l.OverageLimit, l.Overage = true, nil, nil, 0
	return l
}

// The golden values are those of docs/billing.md. They never change: closed months are compared
// with them years later.
const (
	acmeForm = `{"admitted":44100,"assignment":7,"corrects":null,"from":"2026-10-01T00:00:00Z","kind":"assign",` +
		`"month":"2026-10","overage":4100,"overage_limit":8000,` +
		`"per_day":10000,"per_minute":300,"per_month":40000,"plan":"pro","recorded_sha256":"` + acmeRecorded +
		`","refused":12,"suspended_seconds":3600,` +
		`"tenant":"acme","tenant_id":1,"to":"2026-10-20T10:30:00Z","version":2,"void":false}`
	acmeSum   = "34e07b92af79294df43622764328a3edb7bd5a64074721a7195aededb99ae398"
	firstForm = `{"admitted":44100,"assignment":7,"corrects":null,"from":"2026-10-01T00:00:00Z","kind":"assign",` +
		`"month":"2026-10",` +
		`"per_day":10000,"per_minute":300,"plan":"pro","recorded_sha256":"` + acmeRecorded +
		`","refused":12,"suspended_seconds":3600,` +
		`"tenant":"acme","tenant_id":1,"to":"2026-10-20T10:30:00Z","version":2,"void":false}`
	acmeRecorded = "06b4574dd76b30d9a03be2a9c43dc4dee7ea6e95ef99b33693e9a009b166d4ee"
	firstSum     = "d575f7687cecdc492d3b65fcbfdceb1665920e3597e036cc7fec72d35f35cce9"
)

func TestForm(t *testing.T) {
	t.Parallel()
	l := first()
	form, err := l.Form()
	assert.Result(t, form, err, firstForm)
	assert.Equal(t, closing.Sum(form).String(), firstSum, "SHA-256")
	l = acme()
	form, err = l.Form()
	assert.Result(t, form, err, acmeForm)
	assert.Equal(t, closing.Sum(form).String(), acmeSum, "SHA-256")
	l.Tenant = "<\u2028>"
	form, err = l.Form()
	assert.Result(t, form, err, strings.Replace(acmeForm, "acme", l.Tenant, 1))
}

// TestParseIsTheInverse: what was sealed is read as it was, and nothing else is taken for a form.
func TestParseIsTheInverse(t *testing.T) {
	t.Parallel()
	correction := acme()
	correction.Corrects, correction.Admitted, correction.Void, correction.Month = "2026-10", -5, true, "2026-11"
	open := acme()
	open.Recorded, open.From, open.To = closing.Hash{}, day(1).Add(123456*time.Microsecond), time.Time{}
	open.Plan, open.PerMinute, open.PerDay, open.Kind = "", 0, 0, ""
	nothing := int64(0)
	open.PerMonth, open.OverageLimit = &nothing, nil
	odd := acme()
	odd.Plan = "a\u2028<b>\"\\é\U0001F600"
	for _, l := range []closing.Line{acme(), first(), correction, open, odd} {
		form, err := l.Form()
		assert.NoError(t, err)
		back, err := closing.Parse(form)
		if diff := cmp.Diff(l, back); err != nil || diff != "" {
			t.Errorf("%s (-was +read):\n%s%v", form, diff, err)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "spaces": strings.Replace(acmeForm, ":", ": ", 1),
		"another member": strings.Replace(acmeForm, "{", `{"a":1,`, 1),
		"a member less":  strings.Replace(acmeForm, `"admitted":44100,`, "", 1), "cut": acmeForm[:40],
		"part of the first": strings.Replace(acmeForm, `"overage":4100,`, "", 1),
		"another order":     `{"void":false,` + acmeForm[1:],
		"a short hash":      strings.Replace(acmeForm, acmeRecorded, "ab", 1), "text after it": acmeForm + "1",
		"another time": strings.Replace(acmeForm, "00:00Z", "00:00+00:00", 1),
	} {
		if _, err := closing.Parse(text); err == nil {
			t.Errorf("%s is taken for a canonical form: %s", name, text)
		}
	}
}

func TestFormRefusesWhatJSONRounds(t *testing.T) {
	t.Parallel()
	l := acme()
	for n, refused := range map[int64]bool{1 << 53: true, 1<<53 - 1: false, 1 - 1<<53: false, -1 << 53: true} {
		l.Admitted = n
		if form, err := l.Form(); (err != nil) != refused || !refused && !strings.Contains(form, fmt.Sprint(n)) {
			t.Errorf("%d became %s, %v", n, form, err)
		}
	}
}

func TestTotal(t *testing.T) {
	t.Parallel()
	total := closing.NewTotal()
	hashes := sha256.New()
	for _, l := range []closing.Line{{TenantID: 1, Admitted: 5, Refused: 1, Overage: 4},
		{TenantID: 1, Admitted: -2, Refused: 1, Overage: -1},
		{TenantID: 4}, {TenantID: 5}} {
		sum := closing.Sum(fmt.Sprint(l.Admitted))
		total.Add(&l, sum)
		fmt.Fprintf(hashes, "%x\n", sum[:])
	}
	want := closing.Sums{
		Tenants:  3,
		Lines:    4,
		Admitted: 3,
		Refused:  2,
		Overage:  3,
		SHA256:   closing.Hash(hashes.Sum(nil)),
	}
	assert.DeepEqual(t, total.Sums(), want)
}

func TestDiffering(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b, want string }{
		{acmeForm, acmeForm, "[]"},
		{acmeForm, strings.Replace(acmeForm, "44100", "44101", 1), "[admitted]"},
		{`{"a":null,"c":[1],"d":1}`, `{"b":2,"c":[1,2],"d":1}`, "[a b c]"},
		{`{}`, `[]`, "refused"},
	} {
		got, err := closing.Differing(tt.a, tt.b)
		if (err != nil) != (tt.want == "refused") || err == nil && fmt.Sprint(got) != tt.want {
			t.Errorf("%s and %s differ in %v, %v; want %s", tt.a, tt.b, got, err, tt.want)
		}
	}
}
