package reference

import (
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown renders a document in a folder of docs, with tables and with anchors at its headings. Links between documents
// become links between pages.
func (m maker) markdown(folder string) goldmark.Markdown {
	links := util.Prioritized(linker{m.prefix, folder}, 100)
	return goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithAttribute(), parser.WithASTTransformers(links)),
	)
}

type linker struct{ prefix, folder string }

// Transform replaces the links of a document.
func (l linker) Transform(document *ast.Document, _ text.Reader, _ parser.Context) {
	// The walk function never fails.
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			link.Destination = []byte(l.destination(string(link.Destination)))
		}
		return ast.WalkContinue, nil
	})
}

// destination returns the page of a linked document. Other links stay as they are.
func (l linker) destination(to string) string {
	file, fragment, hasFragment := strings.Cut(to, "#")
	file = path.Join(l.folder, file)
	for _, g := range guides {
		if g.file != file {
			continue
		}
		page := l.prefix + "/docs/" + g.path
		if hasFragment {
			page += "#" + fragment
		}
		return page
	}
	return to
}
