package reference

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

const textType = "text/plain; charset=utf-8"

// forPrograms makes the pages that programs read: llms.txt (llmstxt.org), the feed of changes, robots.txt (RFC 9309) and
// security.txt.
func (m maker) forPrograms() []*Page {
	overview := func() ([]byte, error) { return m.llms(), nil }
	return []*Page{
		newPage("/llms.txt", textType, overview),
		newPage("/docs/llms.txt", textType, overview),
		newPage("/docs/changelog.atom", "application/atom+xml; charset=utf-8", m.feed),
		newPage("/robots.txt", textType, func() ([]byte, error) {
			return []byte("# What is below /v1 needs an API key.\nUser-agent: *\nDisallow: " + m.prefix + "/v1/\n"), nil
		}),
		newDatedPage("/.well-known/security.txt", textType, func(now time.Time) []byte { return securityText(m.support, m.root, now) }),
	}
}

// llms lists what a program should read to learn the API.
func (m maker) llms() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `# %s

> An HTTP API for a store's catalogue of animals: list, add and change animals, take orders for them, and read the usage. Requests and responses
> are JSON. Every request needs an API key as a bearer token. The base URL is %s/v1.

## API description

- [OpenAPI 3.1, YAML](%[2]s/v1/openapi.yaml): every operation, parameter, header, schema and error
- [OpenAPI 3.1, JSON](%[2]s/v1/openapi.json): the same document

## Guides

`, siteName, m.root)
	for _, g := range guides {
		fmt.Fprintf(&b, "- [%s](%s/docs/%s.md): %s\n", g.title, m.root, g.path, g.about)
	}
	fmt.Fprintf(&b, "\n## Optional\n\n- [Feed of changes](%s/docs/changelog.atom): Atom\n", m.root)
	return []byte(b.String())
}

// The project's own address, for a deployment without support.
const securityAddress = "security@petstore.example"

// securityText is security.txt (RFC 9116). It expires half a year later, counted from the beginning of the day.
func securityText(s Support, root string, now time.Time) []byte {
	var b bytes.Buffer
	if s.URL != "" {
		fmt.Fprintf(&b, "Contact: %s\n", s.URL)
	}
	if address := s.Email; address != "" || b.Len() == 0 {
		fmt.Fprintf(&b, "Contact: mailto:%s\n", cmp.Or(address, securityAddress))
	}
	expires := now.UTC().Truncate(24*time.Hour).AddDate(0, 6, 0)
	fmt.Fprintf(&b, "Expires: %s\nPreferred-Languages: en\nCanonical: %s/.well-known/security.txt\n", expires.Format(time.RFC3339), root)
	return b.Bytes()
}

// The feed is Atom (RFC 4287).
type feed struct {
	XMLName xml.Name  `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string    `xml:"id"`
	Title   string    `xml:"title"`
	Updated string    `xml:"updated"`
	Links   []link    `xml:"link"`
	Author  string    `xml:"author>name"`
	Entries []article `xml:"entry"`
}

type link struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type article struct {
	ID      string  `xml:"id"`
	Title   string  `xml:"title"`
	Updated string  `xml:"updated"`
	Links   []link  `xml:"link"`
	Content content `xml:"content"`
}

type content struct {
	Type string `xml:"type,attr"`
	HTML string `xml:",chardata"`
}

// feed makes an entry of each section of the changelog. The section's anchor begins with its date.
func (m maker) feed() ([]byte, error) {
	page := m.root + "/docs/" + changelog
	f := feed{ID: page, Title: titleOf("Changes"), Author: siteName, Links: []link{{"self", page + ".atom"}, {"alternate", page}}}
	for _, g := range guides {
		if g.path != changelog {
			continue
		}
		// Readers of feeds know no base of relative links.
		d, err := m.parse(g, m.root)
		if err != nil {
			return nil, err
		}
		for _, s := range d.sections()[1:] {
			day, err := time.Parse(time.DateOnly, s.anchor[:min(len(s.anchor), len(time.DateOnly))])
			if err != nil {
				return nil, fmt.Errorf("the changelog's section %q: %w", s.title, err)
			}
			e := article{ID: page + "#" + s.anchor, Title: s.title, Updated: day.Format(time.RFC3339), Content: content{Type: "html"}}
			e.Links = []link{{"alternate", e.ID}}
			for _, n := range s.nodes {
				text, err := d.html(n)
				if err != nil {
					return nil, err
				}
				e.Content.HTML += text
			}
			f.Entries = append(f.Entries, e)
			f.Updated = max(f.Updated, e.Updated)
		}
	}
	text, err := xml.MarshalIndent(f, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}
