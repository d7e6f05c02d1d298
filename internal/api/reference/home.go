package reference

import (
	"fmt"
	"html"
	"strings"
)

const (
	siteName = "Animal Store"
	htmlType = "text/html; charset=utf-8"
)

// entry is a page in the navigation.
type entry struct{ path, title, about string }

func (m maker) entries() []entry {
	all := []entry{{path: "/docs", title: "Reference"}}
	for _, g := range guides {
		all = append(all, entry{"/docs/" + g.path, g.title, g.about})
	}
	return all
}

// layout is what a page is made of.
type layout struct {
	path, title string
	// contents and body are HTML.
	contents, body string
	// Each template replaces {{content}} of the one before it; body replaces that of the last one.
	templates []string
}

// render makes a page.
//
// It does not use html/template: a program that runs any template keeps all methods of all its types, which made this one
// 18 MB larger and used 6 MB more memory. Values are escaped here, for text and for attributes in double quotes.
func (m maker) render(l layout) ([]byte, error) {
	page := "{{content}}"
	for _, name := range l.templates {
		text, err := files.ReadFile("templates/" + name)
		if err != nil {
			return nil, err
		}
		page = strings.Replace(page, "{{content}}", strings.TrimSuffix(string(text), "\n"), 1)
	}
	page += "\n"
	return []byte(strings.NewReplacer(
		"{{title}}", html.EscapeString(l.title), "{{prefix}}", html.EscapeString(m.prefix), "{{base}}", html.EscapeString(m.root+"/v1"),
		"{{navigation}}", m.navigation(l.path), "{{guides}}", m.listOfGuides(), "{{contents}}", l.contents, "{{content}}", l.body,
	).Replace(page)), nil
}

func (m maker) navigation(current string) string {
	var b strings.Builder
	for _, e := range m.entries() {
		mark := ""
		if e.path == current {
			mark = ` aria-current="page"`
		}
		fmt.Fprintf(&b, "\n<li><a href=\"%s\"%s>%s</a></li>", html.EscapeString(m.prefix+e.path), mark, html.EscapeString(e.title))
	}
	return b.String()
}

func (m maker) listOfGuides() string {
	var b strings.Builder
	for _, e := range m.entries() {
		if e.about != "" {
			fmt.Fprintf(&b, "\n<dt><a href=\"%s\">%s</a></dt>\n<dd>%s</dd>",
				html.EscapeString(m.prefix+e.path), html.EscapeString(e.title), html.EscapeString(e.about))
		}
	}
	return b.String()
}

// home makes the first page and the reference.
func (m maker) home() []*Page {
	first := func() ([]byte, error) {
		return m.render(layout{path: "/", title: siteName, templates: []string{"layout.html", "guide.html", "home.html"}})
	}
	reference := func() ([]byte, error) {
		return m.render(layout{path: "/docs", title: titleOf("Reference"), templates: []string{"layout.html", "reference.html"}})
	}
	return []*Page{
		newPage("/", htmlType, first, underPolicy(guidePolicy)...),
		newPage("/docs", htmlType, reference, underPolicy(fmt.Sprintf(referencePolicy, m.origin))...),
	}
}

func titleOf(page string) string { return page + " – " + siteName }
