package reference_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"petstore.example/internal/api/reference"
	"petstore.example/internal/test/assert"
)

// TestFeed: readers of feeds get an entry for each change, the newest first, with absolute links to
// pages and sections that exist.
func TestFeed(t *testing.T) {
	t.Parallel()
	for _, d := range deployments {
		pages := site(t, d.baseURL)
		var feed struct {
			XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
			ID      string   `xml:"id"`
			Title   string   `xml:"title"`
			Updated string   `xml:"updated"`
			Author  string   `xml:"author>name"`
			Links   []struct {
				Rel  string `xml:"rel,attr"`
				Href string `xml:"href,attr"`
			} `xml:"link"`
			Entries []struct {
				ID      string    `xml:"id"`
				Title   string    `xml:"title"`
				Updated time.Time `xml:"updated"`
				Content struct {
					Type string `xml:"type,attr"`
					HTML string `xml:",chardata"`
				} `xml:"content"`
			} `xml:"entry"`
		}
		assert.NoError(t, xml.Unmarshal(bodyOf(t, pages["/docs/changelog.atom"]), &feed))
		page := d.root + "/docs/changelog"
		if feed.ID != page || feed.Author == "" || feed.Title == "" || len(feed.Entries) < 2 ||
			feed.Updated != feed.Entries[0].Updated.Format(time.RFC3339) {
			t.Errorf("%+v", feed)
		}
		if len(feed.Links) != 2 || feed.Links[0].Rel != "self" || feed.Links[0].Href != page+".atom" ||
			feed.Links[1].Href != page {
			t.Errorf("%+v", feed.Links)
		}
		outlines := map[string]outline{}
		for _, p := range pages {
			if strings.HasPrefix(p.ContentType, "text/html") {
				outlines[p.Path] = outlineOf(t, bodyOf(t, p))
			}
		}
		previous := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		for _, e := range feed.Entries {
			if !e.Updated.Before(previous) || e.Title == "" || e.Content.Type != "html" {
				t.Errorf("%+v", e)
			}
			previous = e.Updated
			checkLink(t, outlines, pages, d.prefix, d.root, "the feed", e.ID)
			links := outlineOf(t, []byte(e.Content.HTML)).links
			for _, l := range links {
				if !strings.HasPrefix(l, d.root+"/") {
					t.Errorf("%s links to %s, which is not absolute", e.ID, l)
				}
				checkLink(t, outlines, pages, d.prefix, d.root, e.ID, l)
			}
		}
	}
}

// TestDeprecationsAreAnnounced: the changelog leads to the guide of each removal, so that
// subscribers learn of it.
func TestDeprecationsAreAnnounced(t *testing.T) {
	t.Parallel()
	pages := site(t, "https://store.test/v1")
	feed := string(bodyOf(t, pages["/docs/changelog.atom"]))
	n := 0
	for name := range pages {
		if guide, ok := strings.CutPrefix(name, "/docs/deprecations/"); ok && !strings.HasSuffix(guide, ".md") {
			n++
			if !strings.Contains(feed, "https://store.test/docs/deprecations/"+guide+"&#34;") {
				t.Errorf("no entry leads to %s", name)
			}
		}
	}
	assert.True(t, n != 0, "there are no guides of removals")
}

// TestSecurityText holds what RFC 9116 demands, and that the address is the one of SECURITY.md.
func TestSecurityText(t *testing.T) {
	t.Parallel()
	page := site(t, "https://store.test/v1")["/.well-known/security.txt"]
	fields := map[string]string{}
	for line := range strings.Lines(string(bodyOf(t, page))) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if _, twice := fields[name]; !ok || twice {
			t.Errorf("line %q", line)
		}
		fields[name] = value
	}
	policy, err := os.ReadFile("../../../SECURITY.md")
	assert.NoError(t, err)
	address, ok := strings.CutPrefix(fields["Contact"], "mailto:")
	if !ok || !bytes.Contains(policy, []byte(address)) ||
		fields["Canonical"] != "https://store.test/.well-known/security.txt" {
		t.Errorf("%v", fields)
	}
	expires, err := time.Parse(time.RFC3339, fields["Expires"])
	if err != nil || expires.Before(now.AddDate(0, 5, 0)) || expires.After(now.AddDate(1, 0, 0)) {
		t.Errorf("expires at %v, %v", expires, err)
	}
	later, err := page.For(nil, now.AddDate(0, 7, 0))
	if err != nil || strings.Contains(string(later.Body), fields["Expires"]) {
		t.Errorf("seven months later: %s, %v", later.Body, err)
	}
}

// TestSecurityTextNamesTheSupport: who runs the API is told of a hole in it, if they said how.
func TestSecurityTextNamesTheSupport(t *testing.T) {
	t.Parallel()
	const page, email = "Contact: https://help.test/a\n", "Contact: mailto:help@help.test\n"
	for support, want := range map[reference.Support]string{
		{URL: "https://help.test/a"}:                          page,
		{Email: "help@help.test"}:                             email,
		{URL: "https://help.test/a", Email: "help@help.test"}: page + email,
	} {
		s, err := reference.New("https://store.test/v1", support, nil)
		assert.NoError(t, err)
		for _, p := range s.Pages {
			if p.Path == "/.well-known/security.txt" && !strings.HasPrefix(string(bodyOf(t, p)), want+"Expires: ") {
				t.Errorf("%+v: %s", support, bodyOf(t, p))
			}
		}
	}
}

// TestLLMs: every link leads to a page, and every guide is there in Markdown whose links lead to
// pages too.
func TestLLMs(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)]*)\)`)
	for _, d := range deployments {
		pages := site(t, d.baseURL)
		overview := string(bodyOf(t, pages["/llms.txt"]))
		if overview != string(bodyOf(t, pages["/docs/llms.txt"])) ||
			!strings.HasPrefix(overview, "# Animal Store\n\n> ") {
			t.Errorf("%s", overview)
		}
		n := 0
		for name, p := range pages {
			if !strings.HasSuffix(name, ".md") {
				continue
			}
			n++
			if !strings.Contains(overview, "("+d.root+name+")") {
				t.Errorf("llms.txt does not name %s", name)
			}
			folder := name[:strings.LastIndex(name, "/")+1]
			for _, m := range link.FindAllStringSubmatch(string(bodyOf(t, p)), -1) {
				checkMarkdownLink(t, pages, d.root, name, folder, m[1])
			}
		}
		for _, m := range link.FindAllStringSubmatch(overview, -1) {
			checkMarkdownLink(t, pages, d.root, "llms.txt", "", m[1])
		}
		assert.True(t, n >= 9, n, "guides")
	}
}

func checkMarkdownLink(t *testing.T, pages map[string]*reference.Page, root, from, folder, to string) {
	t.Helper()
	target, _, _ := strings.Cut(to, "#")
	if rest, absolute := strings.CutPrefix(target, root); absolute {
		target = rest
	} else if up, ok := strings.CutPrefix(target, "../"); ok {
		target = folder[:strings.LastIndex(strings.TrimSuffix(folder, "/"), "/")+1] + up
	} else if target != "" {
		target = folder + target
	}
	if target != "" && target != account && pages[target] == nil {
		t.Errorf("%s links to %s, which is no page", from, to)
	}
}

// TestSearchIndex: the index has every section with its text, and each leads to a place that
// exists.
func TestSearchIndex(t *testing.T) {
	t.Parallel()
	for _, d := range deployments {
		pages := site(t, d.baseURL)
		var index []struct{ Path, Page, Title, Text string }
		assert.NoError(t, json.Unmarshal(bodyOf(t, pages["/docs/search.json"]), &index))
		outlines, texts := map[string]outline{}, map[string]string{}
		for _, p := range pages {
			if strings.HasPrefix(p.ContentType, "text/html") {
				outlines[p.Path] = outlineOf(t, bodyOf(t, p))
				texts[p.Path] = textOf(t, bodyOf(t, p))
			}
		}
		found := map[string]string{}
		for _, s := range index {
			if s.Page == "Reference" { // A browser makes its places: package browser tests that they exist.
				found[strings.TrimPrefix(s.Path, d.prefix)] = s.Text
				continue
			}
			checkLink(t, outlines, pages, d.prefix, d.root, "the index", s.Path)
			page, _, _ := strings.Cut(strings.TrimPrefix(s.Path, d.prefix), "#")
			if s.Page == "" || s.Title == "" || !strings.Contains(texts[page], s.Title) {
				t.Errorf("%+v", s)
			}
			for sentence := range strings.SplitSeq(s.Text, ". ") {
				for _, word := range strings.Fields(sentence) {
					if !strings.Contains(texts[page], word) {
						t.Errorf("%s: %q is not on its page", s.Path, word)
					}
				}
			}
			found[strings.TrimPrefix(s.Path, d.prefix)] = s.Text
		}
		for path, text := range map[string]string{
			"/docs/errors#rate_limit_exceeded": "429.", "/docs/limits#bans": "15 minutes",
			"/docs/limits":                             "Business 1,000 100,000",
			"/docs/getting-a-key#your-first-request":   "curl -i '" + d.root,
			"/docs#tag/this-document/GET/openapi.yaml": "GET /v1/openapi.yaml Returns this document",
			"/docs#tag/pets/PATCH/pets/{petId}":        "PATCH /v1/pets/{petId} ",
		} {
			assert.Contains(t, found[path], text, path)
		}
	}
}

// textOf returns what a reader of a page sees, in one line.
func textOf(t *testing.T, body []byte) string {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(body))
	assert.NoError(t, err)
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// TestContents: a guide with three sections or more lists them, in their order, with a link to
// each.
func TestContents(t *testing.T) {
	t.Parallel()
	pages := site(t, "https://store.test/v1")
	for name, p := range pages {
		if !strings.HasPrefix(p.ContentType, "text/html") || name == "/" || name == "/docs" {
			continue
		}
		body := bodyOf(t, p)
		_, body, _ = bytes.Cut(body, []byte("</header>")) // in which the pages are listed
		list, rest, listed := bytes.Cut(body, []byte("</details>"))
		if !listed {
			rest = body
		}
		var headings, links []string
		for _, m := range regexp.MustCompile(`<h[23] id="([^"]*)"`).FindAllSubmatch(rest, -1) {
			headings = append(headings, string(m[1]))
		}
		for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllSubmatch(list, -1) {
			links = append(links, string(m[1]))
		}
		if listed != (len(headings) >= 3) || listed && !slices.Equal(headings, links) {
			t.Errorf("%s: sections %q, contents %q", name, headings, links)
		}
		if opened, closed := bytes.Count(
			list,
			[]byte("<ul>"),
		), bytes.Count(
			list,
			[]byte("</ul>"),
		); listed &&
			opened != closed {
			t.Errorf("%s: %d lists begin and %d end", name, opened, closed)
		}
	}
}
