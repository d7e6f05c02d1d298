package output

import (
	"encoding/json"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Printer says where and how to print.
type Printer struct {
	Out io.Writer
	// Format is table, json, jsonl or csv; empty for rows separated by tabs.
	Format string
	// Columns are the names of the columns to print, in this order; nil for the view's columns.
	Columns []string
	// Filter, if set, is applied to the JSON of a list or an item, and its results are printed. In
	// jsonl it is applied to each item.
	Filter *Filter
	// TTY tells whether Out is a terminal. Then tables fit its width, times are relative to now,
	// and digits are in groups.
	TTY   bool
	Width int
	Now   time.Time
	// Zone is the time zone of times in tables and rows, which are then exact. If it is nil, times
	// are in UTC, and relative to now on terminals.
	Zone   *time.Location
	Colors Colors
}

// Whole tells whether an item is printed by its view alone. That is so in the formats for programs,
// which have all columns, and if columns were chosen.
func (p Printer) Whole() bool { return p.Columns != nil || (p.Format != "" && p.Format != "table") }

// List prints items: an array in JSON, otherwise a line each.
func List[T any](p Printer, v View[T], items []T) error {
	s, err := NewStream(p, v)
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := s.Add(item); err != nil {
			return err
		}
	}
	return s.Close()
}

// Item prints one item with all its values: an object in JSON, otherwise a line for each value.
func Item[T any](p Printer, v View[T], item T) error {
	v, err := v.pick(p.Columns)
	if err != nil {
		return err
	}
	switch p.Format {
	case "json":
		return p.printObject(object[T]{v, item})
	case "jsonl", "csv":
		p.Columns = nil // v has only the picked columns.
		return List(p, v, []T{item})
	case "table":
		return printItem(p, v, item)
	}
	for _, c := range v {
		if _, err := io.WriteString(p.Out, c.Name+"\t"+p.text(c.Value(item))+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// printObject prints one item as JSON.
func (p Printer) printObject(v json.Marshaler) error {
	text, err := v.MarshalJSON()
	switch {
	case err != nil:
		return err
	case p.Filter != nil:
		return p.Filter.print(p, p.Out, text)
	}
	return printJSON(p.Out, json.RawMessage(text))
}

// Rows prints the columns of a list, a line for each item, its values separated by tabs.
func Rows[T any](p Printer, v View[T], items []T) error {
	v, err := v.pick(p.Columns)
	if err != nil {
		return err
	}
	v = v.List()
	for _, item := range items {
		cells := make([]string, len(v))
		for i, c := range v {
			cells[i] = p.text(c.Value(item))
		}
		if _, err := io.WriteString(p.Out, strings.Join(cells, "\t")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func csvRow[T any](v View[T], item T) []string {
	cells := make([]string, len(v))
	for i, c := range v {
		value := c.Value(item)
		cells[i] = Text(value)
		switch value.(type) {
		case string, []string: // Numbers, times and JSON are never formulas.
			cells[i] = noFormula(cells[i])
		}
	}
	return cells
}

// noFormula puts an apostrophe before a text that a spreadsheet could take for a formula, which
// would run when somebody opens the file. The wide characters begin formulas in Japanese
// spreadsheets. https://owasp.org/www-community/attacks/CSV_Injection
func noFormula(text string) string {
	const begin = "=+-@＝＋－＠"
	if first, _ := utf8.DecodeRuneInString(strings.TrimSpace(text)); strings.ContainsRune(begin, first) {
		return "'" + text
	}
	return text
}
