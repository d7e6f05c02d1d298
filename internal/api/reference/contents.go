package reference

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

// contents returns the list of a guide's sections, two levels deep, empty for a guide with fewer than three.
func contents(sections []section) string {
	var b strings.Builder
	level, n := 1, 0
	for _, s := range sections {
		if s.level != 2 && s.level != 3 {
			continue
		}
		n++
		switch {
		case s.level > level:
			b.WriteString("\n<ul>")
		case s.level < level:
			b.WriteString("</li>\n</ul></li>")
		default:
			b.WriteString("</li>")
		}
		level = s.level
		fmt.Fprintf(&b, "\n<li><a href=\"#%s\">%s</a>", html.EscapeString(s.anchor), html.EscapeString(s.title))
	}
	if n < 3 {
		return ""
	}
	b.WriteString(strings.Repeat("</li>\n</ul>", level-1))
	return "<nav class=\"guide-contents\" aria-label=\"On this page\">\n<details>\n<summary>On this page</summary>" + b.String() + "\n</details>\n</nav>\n\n"
}

// found is a section in the index of the search.
type found struct {
	Path  string `json:"path"`
	Page  string `json:"page"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// searchIndex makes the index that the pages' own script searches: the guides, and the operations of the OpenAPI document.
func (m maker) searchIndex(inYAML func() []byte) *Page {
	return newPage("/docs/search.json", "application/json", func() ([]byte, error) {
		index, err := operations(m.prefix, rebase(inYAML(), m.root))
		if err != nil {
			return nil, err
		}
		for _, g := range guides {
			d, err := m.parse(g, m.prefix)
			if err != nil {
				return nil, err
			}
			for _, s := range d.sections() {
				f := found{Path: m.prefix + "/docs/" + g.path, Page: g.title, Title: s.title}
				if s.level > 1 {
					f.Path += "#" + s.anchor
				}
				var text []string
				for _, n := range s.nodes {
					text = append(text, d.words(n))
				}
				f.Text = strings.Join(text, " ")
				index = append(index, f)
			}
		}
		return json.Marshal(index)
	})
}
