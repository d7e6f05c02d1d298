package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

func TestRelative(t *testing.T) {
	t.Parallel()
	for ago, want := range map[time.Duration]string{
		0: "just now", -59 * time.Second: "in a moment", 59 * time.Second: "just now",
		time.Minute: "1 minute ago", 2*time.Hour + 59*time.Minute: "2 hours ago", -24 * time.Hour: "in 1 day",
		29 * day: "29 days ago", 30 * day: "1 month ago", -800 * day: "in 2 years",
	} {
		if got := relative(testNow.Add(-ago), testNow); got != want {
			t.Errorf("%v ago: %q, want %q", ago, got, want)
		}
	}
}

func TestParseExpiry(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		"": {}, "90d": testNow.AddDate(0, 0, 90), "2w": testNow.AddDate(0, 0, 14), "1h30m": testNow.Add(90 * time.Minute),
		"2027-01-01":                time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		"2027-01-01T01:00:00+01:00": time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		"36500d":                    testNow.Add(maxLength),
	} {
		if got, err := parseExpiry(text, testNow); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"yesterday", "d", "1.5d", "-1d", "0d", "0s", "36501d", "5215w", "99999999999999999999d", "2147483648w",
		"2026-02-30", "2027-01-01 10:00", "1h 30m", "+", "90", "9999999h",
	} {
		if got, err := parseExpiry(text, testNow); err == nil {
			t.Errorf("%q was taken for %v", text, got)
		}
	}
}

func TestParseMonth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "2026-11", "2026-12": "2026-12", "2024-02": "2024-02"} {
		from, to, err := parseMonth(text, testNow.In(time.FixedZone("", 14*3600)))
		if err != nil || from.Format("2006-01") != want || !to.Equal(from.AddDate(0, 1, 0)) || from.Day() != 1 {
			t.Errorf("%q: %v to %v, %v", text, from, to, err)
		}
	}
}

func TestClosest(t *testing.T) {
	t.Parallel()
	known := []string{"list", "show", "issue", "identify", "revoke", "acme", "acme-staging"}
	for name, want := range map[string]string{
		"lst": "list", "isue": "issue", "sisue": "issue", "REVOKE": "revoke", "acmee": "acme", "iden": "identify",
		"x": "", "": "", "rotat": "", "entirely-else": "", "acme-stagign": "acme-staging",
		"acme-production": "acme", "acme-staging-and-more": "acme-staging",
	} {
		if got := closest(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("%q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestPasswordsAreTakenOut(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://jo:s3cret@h/db", "postgres://jo:s3cret@h:port/db", "postgresql://:s3cret@/db?host=/run",
		"postgres://jo@h/db?password=s3cret&sslmode=disable", "host=h password=s3cret user=jo", "password = 's3cret' host=h",
		"postgres://jo:s3cret@[::1/db", "postgres://jo:s3cret%zz@h/db",
	} {
		f := &factory{passwords: passwordsIn(dsn)}
		if got := f.redact("can't read " + dsn); strings.Contains(got, "s3cret") {
			t.Errorf("%q", got)
		}
	}
	f := &factory{passwords: passwordsIn("postgres://jo:p%40ss%2Fword@h/db")}
	if got := f.redact("p@ss/word p%40ss%2Fword"); got != "… …" {
		t.Errorf("%q", got)
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		nil: 0, errors.New("x"): 1, context.Canceled: 130, store.ErrUnavailable: 5, plans.ErrTenantNotFound: 3,
		keys.ErrTooManyKeys: 4, keys.ErrMalformed: 2, fmt.Errorf("a: %w", fmt.Errorf("b: %w", keys.ErrBanNotFound)): 3,
	} {
		if got := codeOf(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

func TestCleanCell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é 日本": "plain é 日本", "a\x1b[31mb": "a[31mb", "a\tb\nc\rd": "a b cd", "a\x00\x7f\u009bb": "ab",
		"\u202Eabc\u2066": "abc", "\xff": "\uFFFD",
	} {
		if got := cleanCell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -100: "-100", 1234567: "1,234,567",
		-9223372036854775808: "-9,223,372,036,854,775,808",
	} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestJSONIsNotForPages(t *testing.T) {
	t.Parallel()
	v := view[string]{{name: "text", value: func(s string) any { return s }}}
	text, err := object[string]{v, "a<b>&\u2028"}.MarshalJSON()
	if want := `{"text":"a<b>&\u2028"}`; err != nil || string(text) != want || !json.Valid(text) {
		t.Errorf("%s, %v", text, err)
	}
}
