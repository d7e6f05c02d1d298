package output

import (
	"encoding/csv"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Printer is where and how to print.
type Printer struct {
	Out io.Writer
	// Format is table, json, csv or, for rows separated by tabs, empty. A Stream also prints jsonl.
	Format string
	// TTY tells whether Out is a terminal: tables fit its width, times are relative to now, digits are in groups.
	TTY   bool
	Width int
	Now   time.Time
}

// List prints items: an array in JSON, otherwise a line each.
func List[T any](p Printer, v View[T], items []T) error {
	switch p.Format {
	case "json":
		return printJSON(p.Out, objects(v, items))
	case "csv":
		return printCSV(p.Out, v, items)
	case "table":
		return Table(p, v, items)
	}
	return Rows(p, v, items)
}

// Item prints one item with all its values: an object in JSON, otherwise a line for each value.
func Item[T any](p Printer, v View[T], item T) error {
	switch p.Format {
	case "json":
		return printJSON(p.Out, object[T]{v, item})
	case "csv":
		return printCSV(p.Out, v, []T{item})
	}
	pairs := make([]pair, len(v))
	for i, c := range v {
		pairs[i] = pair{c.Name, c.Value(item)}
	}
	if p.Format == "table" {
		return printPairs(p, pairs)
	}
	return Rows(p, pairView, pairs)
}

type pair struct {
	name  string
	value any
}

var pairView = View[pair]{
	{Name: "name", Value: func(p pair) any { return p.name }, InList: true},
	{Name: "value", Value: func(p pair) any { return p.value }, InList: true},
}

// Rows prints the columns of a list, a line for each item, its values separated by tabs.
func Rows[T any](p Printer, v View[T], items []T) error {
	v = v.List()
	for _, item := range items {
		if _, err := io.WriteString(p.Out, strings.Join(row(v, item), "\t")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func printCSV[T any](w io.Writer, v View[T], items []T) error {
	out := csv.NewWriter(w)
	if err := out.Write(v.Names()); err != nil {
		return err
	}
	for _, item := range items {
		if err := out.Write(csvRow(v, item)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func csvRow[T any](v View[T], item T) []string {
	cells := row(v, item)
	for i, c := range v {
		switch c.Value(item).(type) {
		case string, []string: // Numbers, times and JSON are never formulas.
			cells[i] = noFormula(cells[i])
		}
	}
	return cells
}

// noFormula returns a text that a spreadsheet takes for text: with an apostrophe before it if it could be a formula, which runs when
// somebody opens the file. The wide characters begin formulas in Japanese spreadsheets.
// https://owasp.org/www-community/attacks/CSV_Injection
func noFormula(text string) string {
	const begin = "=+-@＝＋－＠"
	if first, _ := utf8.DecodeRuneInString(strings.TrimSpace(text)); strings.ContainsRune(begin, first) {
		return "'" + text
	}
	return text
}

func row[T any](v View[T], item T) []string {
	cells := make([]string, len(v))
	for i, c := range v {
		cells[i] = Text(c.Value(item))
	}
	return cells
}
