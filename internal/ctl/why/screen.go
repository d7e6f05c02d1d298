package why

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/usage"
)

// screen is an explanation for a person: the verdict, what to do, and the reasons for it. It is cut
// to fit the terminal, except with --all.
type screen struct {
	*options
	verdict string
	help    []string
	facts   []fact
	// item prints all facts; nil if facts holds them all.
	item     func(output.Printer) error
	sections []section
}

// fact is a name and its value.
type fact struct {
	name  string
	value any
}

// section is a list under its title.
type section struct {
	title string
	count int
	print func(p output.Printer, rows int) error
}

// addSection adds a list; an empty one is not printed.
func addSection[T any](s *screen, title string, v output.View[T], items []T) {
	if s.all {
		v = v.FormatTimes(time.RFC3339)
	}
	if len(items) > 0 {
		s.sections = append(s.sections, section{title, len(items), func(p output.Printer, rows int) error {
			return output.Table(p, v, first(rows, items))
		}})
	}
}

const (
	// heading is the number of lines of a section besides its rows: an empty line, the title and
	// the headings of the columns.
	heading = 3
	// reserved is the number of lines for the command that shows the rest, an empty line before it,
	// and the prompt.
	reserved = 3
	// standardHeight is the assumed height of a terminal of unknown height.
	standardHeight = 24
)

func (s *screen) print() error {
	var out bytes.Buffer
	p := s.Printer()
	p.Out = &out
	s.printVerdict(&out)
	if err := s.printFacts(p); err != nil {
		return err
	}
	cut, err := s.printSections(p, &out)
	if err != nil {
		return err
	}
	if cut {
		fmt.Fprintf(&out, "\nall of it: petstorectl why %s --all\n", output.Clean(s.word))
	}
	_, err = io.Copy(s.Out, &out)
	return err
}

func (s *screen) printVerdict(out *bytes.Buffer) {
	out.WriteString(output.Wrap(output.Clean(s.verdict), s.Width, "") + "\n")
	for _, line := range s.help {
		out.WriteString(output.Wrap(output.Clean("- "+line), s.Width, "  ") + "\n")
	}
	out.WriteString("\n")
}

func (s *screen) printFacts(p output.Printer) error {
	if s.all && s.item != nil {
		return s.item(p)
	}
	view := make(output.View[*screen], len(s.facts))
	for i, f := range s.facts {
		view[i] = output.Column[*screen]{Name: f.name, Value: func(*screen) any { return f.value }}
	}
	return output.Item(p, view, s)
}

// printSections prints as many rows as there is room for, and reports whether there are more. A
// section has at least two rows, or is left out if they do not fit. The first sections get more.
func (s *screen) printSections(p output.Printer, out *bytes.Buffer) (cut bool, err error) {
	height := s.Height
	if height == 0 {
		height = standardHeight
	}
	left := height - reserved - linesOf(out.String(), s.Width)
	for i, section := range s.sections {
		rows := section.count
		if !s.all {
			later := 0
			for _, other := range s.sections[i+1:] {
				later += heading + min(other.count, 2)
			}
			room := max(left-heading-later, min(2, left-heading))
			rows = min(rows, room)
			cut = cut || rows < section.count
			if rows <= 0 {
				continue
			}
		}
		left -= heading + rows
		fmt.Fprintf(out, "\n%s\n", s.Colors.Bold(section.title))
		if err := section.print(p, rows); err != nil {
			return cut, err
		}
	}
	return cut || !s.all && s.item != nil, nil
}

// linesOf is the number of lines of a text on a terminal of that width.
func linesOf(s string, width int) (n int) {
	for line := range strings.Lines(s) {
		n += 1 + max(0, utf8.RuneCountInString(text.StripEscape(strings.TrimSuffix(line, "\n")))-1)/max(1, width)
	}
	return n
}

// printRows prints the summary for a pipe: a line each.
func printRows[T any](
	o *options,
	v output.View[T],
	item T,
	help []string,
	failed []usage.FailedRequest,
	of []*diagnosis,
) error {
	p := o.Printer()
	if err := output.Item(p, v, item); err != nil {
		return err
	}
	for _, line := range help {
		if _, err := fmt.Fprintf(o.Out, "help\t%s\n", output.Clean(line)); err != nil {
			return err
		}
	}
	if err := output.Rows(p, named("key", keyRow), of); err != nil {
		return err
	}
	return output.Rows(p, named("failed_request", failedView), failed)
}

// named puts a name before each row of a list, because the output has several lists.
func named[T any](name string, v output.View[T]) output.View[T] {
	return append(output.View[T]{{Name: "list", Value: func(T) any { return name }, InList: true}}, v...)
}
