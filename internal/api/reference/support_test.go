package reference_test

import (
	"cmp"
	"strings"
	"testing"

	"petstore.example/internal/api/reference"
	"petstore.example/internal/test/assert"
)

const withContact = `openapi: 3.1.0
info:
  description: Ask [our support](https://support.example.org) for a key.
  contact:
    name: Support
    url: https://support.example.org
    email: support@example.org
`

// TestPagesNameTheSupport: the document and the guides name the operator's support, by what there
// is of it, and never the example's.
func TestPagesNameTheSupport(t *testing.T) {
	t.Parallel()
	const page, email = "https://help.test/a?b=c&d=e", "help@help.test"
	for name, test := range map[string]struct {
		support                    reference.Support
		description, contact, html string
	}{
		"both": {
			reference.Support{URL: page, Email: email}, "Ask [our support](" + page + ") ([" + email + "](mailto:" +
				email + ")) for a key.",
			"    url: " + page + "\n    email: " + email + "\n",
			`<a href="https://help.test/a?b=c&amp;d=e">Our support</a> (<a ` +
				`href="mailto:help@help.test">help@help.test</a>) issues keys.`,
		},
		"a page": {
			reference.Support{URL: page}, "Ask [our support](" + page + ") for a key.", "    url: " + page + "\n",
			`<a href="https://help.test/a?b=c&amp;d=e">Our support</a> issues keys.`,
		},
		"an e-mail address": {
			reference.Support{Email: email}, "Ask [our support](mailto:" + email + ") for a key.", "    email: " +
				email + "\n",
			`<a href="mailto:help@help.test">Our support</a> issues keys.`,
		},
		"none": {reference.Support{}, "Ask our support for a key.", "", "Our support issues keys."},
		"a developer's": {reference.Support{IssueKey: "ctl key issue demo"}, "Ask our support for a key.", "",
			"<code>ctl key issue demo</code> issues keys."},
	} {
		s, err := reference.New("https://store.test/v1", test.support, []byte(withContact))
		assert.NoError(t, err)
		want := "openapi: 3.1.0\ninfo:\n  description: " + test.description + "\n  contact:\n    name: " + cmp.Or(
			test.support.IssueKey,
			"Support",
		) + "\n" + test.contact
		for _, p := range s.Pages {
			got := string(bodyOf(t, p))
			switch {
			case p.Path == "/v1/openapi.yaml" && got != want:
				t.Errorf("%s: the document is %s, want %s", name, got, want)
			case p.Path == "/docs/getting-a-key" && !strings.Contains(got, test.html):
				t.Errorf("%s: the guide has no %s:\n%s", name, test.html, got)
			case strings.Contains(got, "support.example.org") || strings.Contains(got, "support@example.org"):
				t.Errorf("%s: %s names the example", name, p.Path)
			}
		}
	}
}
