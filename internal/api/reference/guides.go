package reference

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"petstore.example/docs"
)

// guide is a document that customers read as a page.
type guide struct {
	// path is the page's, below /docs/; file is in the folder docs.
	path, file string
	// title is what other pages call it. About says in a few words what it tells.
	title, About string
	// adapt, if any, makes the page's Markdown from the file's.
	adapt func(string) string
}

var guides = []guide{
	{path: "getting-a-key", file: "getting-a-key.md", title: "Getting a key", About: "Where keys come from, the first call, and how to look after them."},
	{path: "limits", file: "rate-limiting.md", title: "Limits", About: "What counts, what the headers say, what to do on 429.", adapt: forCustomers},
	{path: "errors", file: "errors.md", title: "Errors", About: "Every code with its cause and cure.", adapt: sections},
	{path: "pagination", file: "pagination.md", title: "Pagination", About: "Walking a list without missing anything."},
	{path: "idempotency", file: "idempotency.md", title: "Idempotency", About: "Sending a request again without doing it twice."},
	{path: "clients", file: "clients.md", title: "Clients", About: "The same calls in curl, Go, Python and JavaScript."},
	{path: "versioning", file: "versioning.md", title: "Versions", About: "What may change, how things end, what beta means."},
	{path: "deprecations/get-pet", file: "deprecations/get-pet.md", title: "Removal of GET /v1/pets/{petId}", About: "When, and what to use instead."},
}

// forCustomers leaves the chapter for customers, which is a document of its own then.
func forCustomers(text string) string {
	text, _, _ = strings.Cut(text, "\n## For operators")
	text = strings.Replace(text, "\n## For customers\n", "\n", 1)
	return strings.ReplaceAll(text, "\n### ", "\n## ")
}

// errorRow is a row of the table in errors.md: status, code, cause, cure.
var errorRow = regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([a-z_]+)` \\| ([^|]+) \\| ([^|]+) \\|\n")

// sections makes a section, with an anchor, of each error of the table.
func sections(text string) string {
	before, table, _ := strings.Cut(text, "| status | code |")
	_, table, _ = strings.Cut(table, "\n|---|---|---|---|\n")
	end := strings.Index(table, "\n\n") + 1
	return before + "## The codes\n\n" + errorRow.ReplaceAllString(table[:end], "### `$2` {#$2}\n\n**$1.** $3\n\n*What to do:* $4\n\n") + table[end:]
}

// guides makes the page of each guide.
func (m maker) guides() (pages []*Page) {
	for _, g := range guides {
		render := func() ([]byte, error) { return m.guide(g) }
		pages = append(pages, newPage("/docs/"+g.path, htmlType, render, underPolicy(guidePolicy)...))
	}
	return pages
}

// wideTables lets tables scroll on narrow screens, by keyboard too. What stands in a text is escaped and stays as it is.
var wideTables = strings.NewReplacer(
	"<table>", `<div class="wide" role="group" aria-label="Table" tabindex="0"><table>`, "</table>", "</table></div>",
)

func (m maker) guide(g guide) ([]byte, error) {
	text, err := docs.FS.ReadFile(g.file)
	if err != nil {
		return nil, err
	}
	if g.adapt != nil {
		text = []byte(g.adapt(string(text)))
	}
	var body bytes.Buffer
	if err := m.markdown(path.Dir(g.file)).Convert(rebase(text, m.root), &body); err != nil {
		return nil, fmt.Errorf("render %s: %w", g.file, err)
	}
	// What is rendered is ours, and the renderer lets no HTML pass that stands in it.
	return m.render("/docs/"+g.path, titleOf(g.title), wideTables.Replace(body.String()), "layout.html", "guide.html")
}
