package output

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// gap is the space between two columns.
const gap = 2

// Table prints the columns of a list for a person: headings, aligned columns, no wider than the
// terminal.
func Table[T any](p Printer, v View[T], items []T) error {
	v, err := v.pick(p.Columns)
	if err != nil {
		return err
	}
	return printTable(p, v.List(), items)
}

func printTable[T any](p Printer, v View[T], items []T) error {
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
		if spare := fit(rows, v, p.Width); spare >= 0 {
			return printTable(p, slices.Delete(slices.Clone(v), spare, spare+1), items)
		}
	}
	for i, c := range v {
		rows[0][i] = p.Colors.Bold(rows[0][i])
		for j, item := range items {
			rows[j+1][i] = p.color(c.Name, c.Value(item), rows[j+1][i])
		}
	}
	return render(p.Out, rows, configs)
}

// printItem prints the names and values of one item, a line each.
func printItem[T any](p Printer, v View[T], item T) error {
	rows := make([][]string, len(v))
	for i, c := range v {
		value := c.Value(item)
		cell := p.human(value)
		if t, ok := value.(time.Time); ok && !t.IsZero() && p.TTY && p.Zone == nil {
			cell += " (" + Text(t) + ")"
		}
		rows[i] = []string{p.Colors.Bold(strings.ReplaceAll(c.Name, "_", " ")), p.color(c.Name, value, cell)}
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

// leastWidth is the least width of columns of text if their MinWidth leaves a table too wide.
const leastWidth = 4

// fit cuts cells, the widest column first, until the table fits the terminal. Columns with a
// MinWidth are cut to that width. If that is not enough, fit returns the column to leave out, and
// cuts nothing. If no column may be left out, fit returns -1 and cuts to leastWidth, except columns
// of IDs. The table may still be too wide then.
func fit[T any](rows [][]string, v View[T], width int) (spare int) {
	widths := make([]int, len(v))
	total := gap * (len(v) - 1)
	for i := range v {
		for _, row := range rows {
			widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(row[i]))
		}
		total += widths[i]
	}
	least := make([]int, len(v))
	for i, c := range v {
		least[i] = c.MinWidth
	}
	total = narrow(widths, least, total, width)
	spare = -1
	for i, c := range v {
		if total > width && c.Spare > 0 && (spare < 0 || c.Spare > v[spare].Spare) {
			spare = i
		}
		if c.MinWidth > 0 && c.MinWidth <= TextWidth {
			least[i] = leastWidth
		}
	}
	if spare >= 0 {
		return spare
	}
	narrow(widths, least, total, width)
	for _, row := range rows {
		for i := range row {
			row[i] = text.Snip(row[i], widths[i], "…")
		}
	}
	return spare
}

// narrow narrows the widest columns until the total is width, or each has its least width. A column
// whose least width is 0 is never cut. narrow returns the total.
func narrow(widths, least []int, total, width int) int {
	for ; total > width; total-- {
		widest := -1
		for i, w := range widths {
			if least[i] > 0 && w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return total
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, *int64:
		return true
	}
	return false
}
