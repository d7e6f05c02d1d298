package httpfield_test

import (
	"math"
	"strings"
	"testing"

	"petstore.example/internal/api/httpfield"
)

// FuzzCursor: a string is a position and comes back from it, or it is none.
func FuzzCursor(f *testing.F) {
	for _, s := range []string{"", "zz", "0000000000000000", "7fffffffffffffff", "ffffffffffffffff",
		"000000000000000A", "+000000000000001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		after, ok := httpfield.ParseCursor(s)
		if after < 0 || !ok && after != 0 {
			t.Fatalf("%q is position %d", s, after)
		}
		lower := len(s) == 16 && strings.Trim(s, "0123456789abcdef") == ""
		if ok != lower {
			t.Fatalf("%q accepted: %v", s, ok)
		}
		if ok && after < math.MaxInt64 && httpfield.FormatCursor(after) != s {
			t.Fatalf("%q is position %d, which is %q", s, after, httpfield.FormatCursor(after))
		}
	})
}

// FuzzIdempotencyKey: a key that is accepted is one, and is the same when it is sent as a string.
func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{"", "k", `"k"`, `"a\\b\""`, `"`, "a b", "k\x00", strings.Repeat("k", 256), `"k";x`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, ok := httpfield.ParseIdempotencyKey(value)
		if !ok {
			if key != "" {
				t.Fatalf("%q is refused, and is %q", value, key)
			}
			return
		}
		if len(key) < 1 || len(key) > 255 ||
			strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' }) {
			t.Fatalf("%q is %q", value, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, ok := httpfield.ParseIdempotencyKey(quoted); !ok || again != key {
			t.Fatalf("%q is %q, but %q is %q %v", value, key, quoted, again, ok)
		}
	})
}

// FuzzLists: a tag or preference is found behind whatever list elements that are well-formed, and
// rubbish finds none.
func FuzzLists(f *testing.F) {
	f.Add(`W/"x", *`, `x="a\"b";y=1, z`, "a")
	f.Add(`"`, "handling=lenient,,", `"handling=strict`)
	f.Fuzz(func(t *testing.T, tags, prefer, word string) {
		httpfield.NoneMatch([]string{tags}, `"ours"`)
		httpfield.PrefersStrict([]string{prefer})
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
		if !httpfield.PrefersStrict([]string{"x=" + quoted + ";y=" + quoted + ", handling=strict"}) {
			t.Fatalf("not strict behind %s", quoted)
		}
		if httpfield.PrefersStrict([]string{"x=" + quoted}) {
			t.Fatalf("strict because of %s", quoted)
		}
		if strings.ContainsFunc(word, func(r rune) bool { return r < 0x21 || r == '"' || r == 0x7f }) {
			return
		}
		if !httpfield.NoneMatch([]string{`"` + word + `" , W/"ours"`}, `"ours"`) ||
			word != "ours" && httpfield.NoneMatch([]string{`"` + word + `"`}, `"ours"`) {
			t.Fatalf("tag behind %q", word)
		}
	})
}
