package cmdutil

import "testing"

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
