package main

import (
	"path"
	"regexp"
	"strings"
)

// guide is a document in docs that customers read as a page.
type guide struct {
	// path is the page's path below /docs/; file is in the folder docs.
	path, file string
	// title is its name in the navigation; about describes it in a few words.
	title, about string
	// adapt, if not nil, makes the page's Markdown from the file's.
	adapt func(string) string
}

var guides = []guide{
	{
		path:  "getting-a-key",
		file:  "getting-a-key.md",
		title: "Getting a key",
		about: "How to get a key, send the first request, and keep the key safe.",
	},
	{
		path:  "limits",
		file:  "rate-limiting.md",
		title: "Limits",
		about: "What is counted, what the headers mean, and what to do after 429.",
		adapt: forCustomers,
	},
	{
		path:  "errors",
		file:  "errors.md",
		title: "Errors",
		about: "Every code with its cause and what to do.",
		adapt: sections,
	},
	{
		path:  "pagination",
		file:  "pagination.md",
		title: "Pagination",
		about: "Read a whole list without missing an item.",
	},
	{
		path:  "idempotency",
		file:  "idempotency.md",
		title: "Idempotency",
		about: "Repeat a request without making it take effect twice.",
	},
	{
		path:  "webhooks",
		file:  "webhooks.md",
		title: "Webhooks",
		about: "Be told of a banned key, a changed plan or a new animal, and check that it was us.",
	},
	{path: "clients", file: "clients.md", title: "Clients", about: "Examples in curl, Go, Python and JavaScript."},
	{
		path:  "versioning",
		file:  "versioning.md",
		title: "Versions",
		about: "What can change, how operations are removed, and what beta means.",
	},
	{path: changelog, file: "changelog.md", title: "Changes", about: "What was added and deprecated, with a feed."},
	{
		path:  "deprecations/get-pet",
		file:  "deprecations/get-pet.md",
		title: "Removal of GET /v1/pets/{petId}",
		about: "The date, and what to use instead.",
	},
}

// changelog is the guide that is also a feed.
const changelog = "changelog"

// forCustomers returns the chapter for customers as a separate document.
func forCustomers(text string) string {
	text, _, _ = strings.Cut(text, "\n## For operators")
	text = strings.Replace(text, "\n## For customers\n", "\n", 1)
	return strings.ReplaceAll(text, "\n### ", "\n## ")
}

// errorRow is a row of the table in errors.md: status, code, cause, cure.
var errorRow = regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([a-z_]+)` \\| ([^|]+) \\| ([^|]+) \\|\n")

// sections turns each row of the table of errors into a section with an anchor.
func sections(text string) string {
	before, table, _ := strings.Cut(text, "| status | code |")
	_, table, _ = strings.Cut(table, "\n|---|---|---|---|\n")
	end := strings.Index(table, "\n\n") + 1
	return before + "## The codes\n\n" + errorRow.ReplaceAllString(
		table[:end],
		"### `$2` {#$2}\n\n**$1.** $3\n\n*What to do:* $4\n\n",
	) + table[end:]
}

// renamed returns the Markdown with links to the pages in place of the files.
func renamed(text string) string {
	for _, g := range guides {
		if path.Base(g.file) != path.Base(g.path)+".md" {
			text = strings.ReplaceAll(text, "]("+g.file, "]("+g.path+".md")
		}
	}
	return text
}

// wideTables lets tables scroll on narrow screens, also by keyboard. Text is escaped, so it is not
// changed.
var wideTables = strings.NewReplacer(
	"<table>", `<div class="wide" role="group" aria-label="Table" tabindex="0"><table>`, "</table>", "</table></div>",
)
