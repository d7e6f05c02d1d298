package why

import (
	"regexp"
	"strings"
	"sync"

	"petstore.example/docs"
)

// errorDoc is what docs/errors.md tells customers of an error code: when it is the response, and what to do.
type errorDoc struct{ when, advice string }

var (
	errorRow = regexp.MustCompile("(?m)^\\| \\d+ \\| `(\\w+)` \\| (.*) \\| (.*) \\|$")
	link     = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
)

// errorDocs returns the table of docs/errors.md by code, without Markdown.
var errorDocs = sync.OnceValue(func() map[string]errorDoc {
	all := map[string]errorDoc{}
	page, err := docs.FS.ReadFile("errors.md")
	if err != nil {
		// It is embedded.
		panic(err)
	}
	plain := func(s string) string { return strings.ReplaceAll(link.ReplaceAllString(s, "$1"), "`", "") }
	for _, row := range errorRow.FindAllStringSubmatch(string(page), -1) {
		all[row[1]] = errorDoc{when: plain(row[2]), advice: plain(row[3])}
	}
	return all
})
