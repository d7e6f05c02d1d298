package httpfield_test

import (
	"math"
	"strings"
	"testing"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/test/assert"
)

func TestNoneMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []string
		want   bool
	}{
		{[]string{`"a"`}, true},
		{[]string{`W/"a"`}, true},
		{[]string{`"x", "a"`}, true},
		{[]string{`"x",W/"y" ,	"a", "z"`}, true},
		{[]string{`, ,"x",,"a"`}, true},
		{[]string{`"x"`, `"a"`}, true},
		{[]string{`"x,y", "a"`}, true},
		{[]string{`"é", "a"`}, true},
		{[]string{`"x" "`, `"a"`}, true},
		{[]string{`*`}, true},
		{[]string{"\t* "}, true},
		{nil, false},
		{[]string{``}, false},
		{[]string{`"b"`}, false},
		{[]string{`a`}, false},
		{[]string{`"A"`}, false},
		{[]string{`w/"a"`}, false},
		{[]string{`W/ "a"`}, false},
		{[]string{`W/`}, false},
		{[]string{`"a`}, false},
		{[]string{`a"`}, false},
		{[]string{`'a'`}, false},
		{[]string{`"x" "a"`}, false},
		{[]string{`"x y", "a"`}, false},
		{[]string{`x, "a"`}, false},
		{[]string{`*, "b"`}, false},
		{[]string{`"*"`}, false},
		{[]string{"\"a\x00\""}, false},
		{[]string{strings.Repeat(`"x", `, 5000)}, false},
	} {
		for _, tag := range []string{`"a"`, httpfield.WeakETag(`"a"`)} {
			assert.Equal(t, httpfield.NoneMatch(c.values, tag), c.want, tag, "in", c.values)
		}
	}
}

func TestPrefersStrict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []string
		want   bool
	}{
		{[]string{"handling=strict"}, true},
		{[]string{"Handling=STRICT"}, true},
		{[]string{`handling="strict"`}, true},
		{[]string{`handling="str\ict"`}, true},
		{[]string{" handling =\tstrict "}, true},
		{[]string{"handling=strict; x=1"}, true},
		{[]string{`handling=strict;;x="a,b" ; y`}, true},
		{[]string{"respond-async, wait=10, handling=strict"}, true},
		{[]string{`foo="a\"b, handling=lenient"; bar, ,handling=strict`}, true},
		{[]string{"return=minimal", "handling=strict"}, true},
		{[]string{"handling=strict, handling=lenient"}, true},
		{[]string{"rubbish here", "handling=strict"}, true},
		{nil, false},
		{[]string{""}, false},
		{[]string{"strict"}, false},
		{[]string{"handling"}, false},
		{[]string{"handling="}, false},
		{[]string{"handling=lenient"}, false},
		{[]string{"handling=lenient, handling=strict"}, false},
		{[]string{"handling=lenient", "handling=strict"}, false},
		{[]string{"handling=stricter"}, false},
		{[]string{"handlings=strict"}, false},
		{[]string{"x; handling=strict"}, false},
		{[]string{`x="handling=strict"`}, false},
		{[]string{`x="handling=strict`}, false},
		{[]string{`handling="strict`}, false},
		{[]string{`handling="strict\`}, false},
		{[]string{"=strict"}, false},
		{[]string{"handling=strict rubbish"}, false},
		{[]string{"rubbish here, handling=strict"}, false},
		{[]string{"\x00\xff;,=\"\\"}, false},
	} {
		assert.Equal(t, httpfield.PrefersStrict(c.values), c.want, c.values)
	}
}

func TestParseIdempotencyKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 255)
	for _, c := range []struct {
		value, want string
		ok          bool
	}{
		{"8e03978e-40d5-43e8-bc93-6894a57f9324", "8e03978e-40d5-43e8-bc93-6894a57f9324", true},
		{`"8e03978e-40d5-43e8-bc93-6894a57f9324"`, "8e03978e-40d5-43e8-bc93-6894a57f9324", true},
		{"k", "k", true},
		{" k\t", "k", true},
		{long, long, true},
		{`"` + long + `"`, long, true},
		{`"` + strings.Repeat(`\"`, 255) + `"`, strings.Repeat(`"`, 255), true},
		{`"a\\b\"c"`, `a\b"c`, true},
		{`a\b"c`, `a\b"c`, true},
		{"!#$%&'()*+,-./:;<=>?@[]^_`{|}~", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~", true},
		{"", "", false},
		{"  ", "", false},
		{`"`, "", false},
		{`""`, "", false},
		{`"k`, "", false},
		{`"k"x`, "", false},
		{`"k";a=1`, "", false},
		{`"k" "k"`, "", false},
		{`"k\"`, "", false},
		{`"k\`, "", false},
		{`"k\x"`, "", false},
		{`"a b"`, "", false},
		{"a b", "", false},
		{"k, k", "", false},
		{long + "k", "", false},
		{`"` + long + `k"`, "", false},
		{"k\x00", "", false},
		{"k\tk", "", false},
		{"k\x7f", "", false},
		{"k\n", "", false},
		{"ключ", "", false},
		{"\"k\x80\"", "", false},
	} {
		if got, ok := httpfield.ParseIdempotencyKey(c.value); got != c.want || ok != c.ok {
			t.Errorf("%q: %q %v, want %q %v", c.value, got, ok, c.want, c.ok)
		}
	}
}

func TestCursor(t *testing.T) {
	t.Parallel()
	for id, want := range map[int64]string{0: "0000000000000000", 1: "0000000000000001", 48879: "000000000000beef",
		math.MaxInt64: "7fffffffffffffff"} {
		assert.Equal(t, httpfield.FormatCursor(id), want, "cursor of", id)
		if back, ok := httpfield.ParseCursor(want); back != id || !ok {
			t.Errorf("cursor %s: %d %v, want %d", want, back, ok, id)
		}
	}
}
