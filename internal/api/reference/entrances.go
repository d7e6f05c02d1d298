package reference

import (
	"bytes"
	"fmt"
	"html/template"
	"sync"
)

const htmlType = "text/html; charset=utf-8"

// templates are all of one layout.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(files, "templates/*.html"))
})

// view is what a template shows.
type view struct {
	Title, Prefix, BaseURL string
	Entries                []entry
	Body                   template.HTML
}

// entry is a page in the navigation. Current is set on the page itself.
type entry struct {
	guide
	Path, Title string
	Current     bool
}

// render fills a template for the page of that path.
func (m maker) render(name, path, title string, body template.HTML) ([]byte, error) {
	v := view{Title: title, Prefix: m.prefix, BaseURL: m.root + "/v1", Body: body}
	v.Entries = append(v.Entries, entry{Path: m.prefix + "/docs", Title: "Reference", Current: path == "/docs"})
	for _, g := range guides {
		v.Entries = append(v.Entries, entry{g, m.prefix + "/docs/" + g.path, g.title, path == "/docs/"+g.path})
	}
	var page bytes.Buffer
	if err := templates().ExecuteTemplate(&page, name, v); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return page.Bytes(), nil
}

// entrances makes the first page and the reference.
func (m maker) entrances() []*Page {
	home := func() ([]byte, error) { return m.render("home.html", "/", "Animal Store", "") }
	reference := func() ([]byte, error) { return m.render("reference.html", "/docs", "Reference", "") }
	return []*Page{
		newPage("/", htmlType, home, underPolicy(guidePolicy)...),
		newPage("/docs", htmlType, reference, underPolicy(fmt.Sprintf(referencePolicy, m.origin))...),
	}
}
