package output

import (
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// gap is the space between two columns.
const gap = 2

// Table prints the columns of a list for a person: headings, aligned columns, no wider than the terminal.
func Table[T any](p Printer, v View[T], items []T) error {
	v = v.List()
	rows := [][]string{make([]string, len(v))}
	configs := make([]table.ColumnConfig, len(v))
	for i, c := range v {
		rows[0][i] = c.heading()
		configs[i].Number = i + 1
	}
	for _, item := range items {
		cells := make([]string, len(v))
		for i, c := range v {
			value := c.Value(item)
			cells[i] = p.human(value)
			if isNumber(value) {
				configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
			}
		}
		rows = append(rows, cells)
	}
	if p.TTY {
		fit(rows, v, p.Width)
	}
	return render(p.Out, rows, configs)
}

// printPairs prints the names and values of one item, a line each.
func printPairs(p Printer, pairs []pair) error {
	rows := make([][]string, len(pairs))
	for i, pair := range pairs {
		rows[i] = []string{strings.ReplaceAll(pair.name, "_", " "), p.human(pair.value)}
		if t, ok := pair.value.(time.Time); ok && !t.IsZero() && p.TTY {
			rows[i][1] += " (" + Text(t) + ")"
		}
	}
	return render(p.Out, rows, nil)
}

func render(w io.Writer, rows [][]string, configs []table.ColumnConfig) error {
	t := table.NewWriter()
	t.SetStyle(table.Style{Box: table.BoxStyle{PaddingRight: strings.Repeat(" ", gap)}})
	t.SetColumnConfigs(configs)
	t.SuppressTrailingSpaces()
	for _, row := range rows {
		cells := make(table.Row, len(row))
		for i, cell := range row {
			cells[i] = cell
		}
		t.AppendRow(cells)
	}
	_, err := io.WriteString(w, t.Render()+"\n")
	return err
}

// fit cuts the cells of columns that have a MinWidth, the widest column first, until the table is no wider than the terminal.
func fit[T any](rows [][]string, v View[T], width int) {
	widths := make([]int, len(v))
	total := gap * (len(v) - 1)
	for i := range v {
		for _, row := range rows {
			widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(row[i]))
		}
		total += widths[i]
	}
	for ; total > width; total-- {
		widest := -1
		for i, c := range v {
			if c.MinWidth > 0 && widths[i] > c.MinWidth && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	for _, row := range rows {
		for i := range row {
			row[i] = text.Snip(row[i], widths[i], "…")
		}
	}
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, *int64:
		return true
	}
	return false
}
