package main

import (
	"bytes"
	"fmt"
	"html"
	"log"
	"os"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// asPath stands in links for {{prefix}}, whose braces would be escaped there.
const asPath = "/-prefix-"

// document is parsed Markdown.
type document struct {
	markdown goldmark.Markdown
	root     ast.Node
	source   []byte
}

// parse reads a guide, with tables and with anchors at its headings. Links between documents become
// links between pages below base.
func parse(g guide, base string) (*document, error) {
	source, err := os.ReadFile(path.Join("docs", g.file))
	if g.adapt != nil {
		source = []byte(g.adapt(string(source)))
	}
	return read(source, util.Prioritized(linker{strings.Replace(base, prefix, asPath, 1), path.Dir(g.file)}, 100)), err
}

func read(source []byte, links ...util.PrioritizedValue) *document {
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(
			parser.WithAutoHeadingID(),
			parser.WithAttribute(),
			parser.WithASTTransformers(links...),
		),
	)
	return &document{markdown, markdown.Parser().Parse(text.NewReader(source)), source}
}

// html renders a part of the document.
func (d *document) html(n ast.Node) string {
	var b bytes.Buffer
	if err := d.markdown.Renderer().Render(&b, d.source, n); err != nil {
		log.Fatal(err)
	}
	return b.String()
}

// section is the text below one heading, up to the next one.
type section struct {
	level         int
	anchor, title string
	nodes         []ast.Node
}

// sections returns the sections of the document in order. The first section has the title of the
// document.
func (d *document) sections() (all []section) {
	for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			id, _ := h.AttributeString("id")
			anchor, _ := id.([]byte)
			all = append(all, section{level: h.Level, anchor: string(anchor), title: d.words(h)})
		} else if len(all) > 0 {
			all[len(all)-1].nodes = append(all[len(all)-1].nodes, n)
		}
	}
	return all
}

// words returns the text of a part of the document in one line.
func (d *document) words(n ast.Node) string {
	var b strings.Builder
	// The walk function never fails.
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if !entering && string(n.Destination) == support {
				b.WriteString("{{mail}}")
			}
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
				if n.IsRaw() {
					b.Write(n.Lines().Value(d.source))
				}
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

type linker struct{ base, folder string }

// Transform replaces the links of a document.
func (l linker) Transform(document *ast.Document, _ text.Reader, _ parser.Context) {
	// The walk function never fails.
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			file, fragment, hasFragment := strings.Cut(string(link.Destination), "#")
			for _, g := range guides {
				if g.file != path.Join(l.folder, file) {
					continue
				}
				link.Destination = []byte(l.base + "/docs/" + g.path)
				if hasFragment {
					link.Destination = append(link.Destination, "#"+fragment...)
				}
			}
		}
		return ast.WalkContinue, nil
	})
}

// contents returns a list of a guide's sections, two levels deep, or nothing if there are fewer
// than three.
func (d *document) contents() string {
	var b strings.Builder
	level, n := 1, 0
	for _, s := range d.sections() {
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
	return "<nav class=\"guide-contents\" aria-label=\"On this page\">\n<details>\n<summary>On this page</summary>" +
		b.String() + "\n</details>\n</nav>\n\n"
}
