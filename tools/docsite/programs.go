package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// found is a section in the index of the search.
type found struct {
	Path  string `json:"path"`
	Page  string `json:"page"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// index returns the entries of a guide in the search.
func (d *document) index(g guide) (all []found) {
	for _, s := range d.sections() {
		f := found{Path: prefix + "/docs/" + g.path, Page: g.title, Title: s.title}
		if s.level > 1 {
			f.Path += "#" + s.anchor
		}
		var text []string
		for _, n := range s.nodes {
			text = append(text, d.words(n))
		}
		f.Text = strings.Join(text, " ")
		all = append(all, f)
	}
	return all
}

// contact matches the support contact in the OpenAPI document. A deployment may have none.
var contact = regexp.MustCompile(`"contact": \{[^}]*\}`)

// readOpenAPI returns the OpenAPI document in JSON, with its members in the same order, and the
// search entries of its operations. Each entry links to the operation's place in the reference, by
// the path that Scalar gives it.
func readOpenAPI() (inJSON string, index []found, err error) {
	inYAML, err := os.ReadFile("internal/api/openapi.yaml")
	if err != nil {
		return "", nil, err
	}
	text, err := yaml.YAMLToJSON(inYAML)
	if err != nil {
		return "", nil, fmt.Errorf("convert the OpenAPI document: %w", err)
	}
	type operation struct {
		Tags                 []string
		Summary, Description string
	}
	var document struct {
		Paths map[string]struct{ Get, Post, Patch *operation }
	}
	if err := yaml.Unmarshal(inYAML, &document); err != nil {
		return "", nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	for path, item := range document.Paths {
		for method, o := range map[string]*operation{"GET": item.Get, "POST": item.Post, "PATCH": item.Patch} {
			if o != nil {
				d := read([]byte(o.Description))
				tag := strings.ReplaceAll(strings.ToLower(o.Tags[0]), " ", "-")
				index = append(index, found{
					Path: prefix + "/docs#tag/" + tag + "/" + method + path, Page: "Reference", Title: o.Summary,
					Text: method + " /v1" + path + " " + d.words(d.root),
				})
			}
		}
	}
	slices.SortFunc(index, func(a, b found) int { return cmp.Compare(a.Path, b.Path) })
	return contact.ReplaceAllLiteralString(string(text), `"contact": {{contact}}`), index, nil
}

// The feed is Atom (RFC 4287).
type link struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type entry struct {
	ID      string `xml:"id"`
	Title   string `xml:"title"`
	Updated string `xml:"updated"`
	Links   []link `xml:"link"`
	Content struct {
		Type string `xml:"type,attr"`
		HTML string `xml:",chardata"`
	} `xml:"content"`
}

// feed makes an entry of each section of the changelog. The section's anchor begins with its date.
func feed() (string, error) {
	const page = root + "/docs/" + changelog
	f := struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string   `xml:"id"`
		Title   string   `xml:"title"`
		Updated string   `xml:"updated"`
		Links   []link   `xml:"link"`
		Author  string   `xml:"author>name"`
		Entries []entry  `xml:"entry"`
	}{ID: page, Title: titleOf("Changes"), Author: siteName,
		Links: []link{{"self", page + ".atom"}, {"alternate", page}}}
	of := slices.IndexFunc(guides, func(g guide) bool { return g.path == changelog })
	// Feed readers have no base for relative links.
	d, err := parse(guides[of], root)
	if err != nil {
		return "", err
	}
	for _, s := range d.sections()[1:] {
		day, err := time.Parse(time.DateOnly, s.anchor[:min(len(s.anchor), len(time.DateOnly))])
		if err != nil {
			return "", fmt.Errorf("the changelog's section %q: %w", s.title, err)
		}
		e := entry{
			ID:      page + "#" + s.anchor,
			Title:   s.title,
			Updated: day.Format(time.RFC3339),
			Links:   []link{{"alternate", page + "#" + s.anchor}},
		}
		e.Content.Type = "html"
		for _, n := range s.nodes {
			e.Content.HTML += d.html(n)
		}
		f.Entries = append(f.Entries, e)
		f.Updated = max(f.Updated, e.Updated)
	}
	text, err := xml.MarshalIndent(f, "", "  ")
	return xml.Header + string(text) + "\n", err
}
