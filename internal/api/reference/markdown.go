package reference

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// parsed is a guide that was read.
type parsed struct {
	markdown goldmark.Markdown
	root     ast.Node
	source   []byte
}

// parse reads a guide, with tables and with anchors at its headings. Links between documents become links between pages below the prefix.
func (m maker) parse(g guide, prefix string) (*parsed, error) {
	source, err := m.text(g)
	if err != nil {
		return nil, err
	}
	return parse(source, util.Prioritized(linker{prefix, path.Dir(g.file)}, 100)), nil
}

func parse(source []byte, links ...util.PrioritizedValue) *parsed {
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithAttribute(), parser.WithASTTransformers(links...)),
	)
	return &parsed{markdown, markdown.Parser().Parse(text.NewReader(source)), source}
}

// html renders a part of the document.
func (d *parsed) html(n ast.Node) (string, error) {
	var b bytes.Buffer
	if err := d.markdown.Renderer().Render(&b, d.source, n); err != nil {
		return "", fmt.Errorf("render a guide: %w", err)
	}
	return b.String(), nil
}

// section is what stands below one heading, up to the next one.
type section struct {
	level         int
	anchor, title string
	nodes         []ast.Node
}

// sections returns the sections of the document in their order. The first one has the title of the document.
func (d *parsed) sections() (all []section) {
	for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			s := section{level: h.Level, title: d.words(h)}
			if id, ok := h.AttributeString("id"); ok {
				s.anchor = string(id.([]byte))
			}
			all = append(all, s)
			continue
		}
		if len(all) > 0 {
			all[len(all)-1].nodes = append(all[len(all)-1].nodes, n)
		}
	}
	return all
}

// words returns the text of a part of the document in one line.
func (d *parsed) words(n ast.Node) string {
	var b strings.Builder
	// The walk function never fails.
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(d.source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		default:
			if n.Type() == ast.TypeBlock && entering {
				b.WriteByte(' ')
				for i := range n.Lines().Len() {
					if n.IsRaw() {
						line := n.Lines().At(i)
						b.Write(line.Value(d.source))
					}
				}
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
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
