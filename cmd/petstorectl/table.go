package main

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

const (
	gap = 2
	// textWidth and idWidth are the widths down to which columns of text and of ids are cut: an id stays whole.
	textWidth = 8
	idWidth   = 20
)

// printTable prints things for a person: headings, columns in line, no wider than the terminal.
func printTable[T any](f *factory, v view[T], things []T) error {
	rows := [][]string{make([]string, len(v))}
	configs := make([]table.ColumnConfig, len(v))
	for i, c := range v {
		rows[0][i] = c.headingText()
		configs[i].Number = i + 1
	}
	for _, t := range things {
		row := make([]string, len(v))
		for i, c := range v {
			value := c.value(t)
			row[i] = f.human(value)
			if isNumber(value) {
				configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
			}
		}
		rows = append(rows, row)
	}
	if f.streams.outTTY {
		fit(rows, v, f.streams.width)
	}
	return render(f.streams.out, rows, configs)
}

// printPairs prints names and values of one thing, a line each.
func printPairs(f *factory, pairs []pair) error {
	rows := make([][]string, len(pairs))
	for i, p := range pairs {
		rows[i] = []string{strings.ReplaceAll(p.name, "_", " "), f.human(p.value)}
		if t, ok := p.value.(time.Time); ok && !t.IsZero() && f.streams.outTTY {
			rows[i][1] += " (" + plain(t) + ")"
		}
	}
	return render(f.streams.out, rows, nil)
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

// fit cuts cells of the columns that may be, the widest first, until the table is no wider than the terminal.
func fit[T any](rows [][]string, v view[T], width int) {
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
			if c.least > 0 && widths[i] > c.least && (widest < 0 || widths[i] > widths[widest]) {
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

// human is a value for people: on a terminal times are told from now and numbers in groups of three.
func (f *factory) human(v any) string {
	if f.streams.outTTY {
		switch v := v.(type) {
		case time.Time:
			if !v.IsZero() {
				return relative(v, f.now())
			}
		case int64:
			return thousands(v)
		case *int64:
			if v != nil {
				return thousands(*v)
			}
		}
	}
	if raw, ok := v.(json.RawMessage); ok && len(raw) == 0 {
		return "-"
	}
	if s := plain(v); s != "" {
		return s
	}
	return "-"
}

func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
