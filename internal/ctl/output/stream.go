package output

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
)

// Stream prints items as List does, but one by one: memory holds one. Only a table needs all of them, to align its columns. A Stream is
// for one goroutine. What is printed is complete when Close has returned nil.
type Stream[T any] struct {
	p     Printer
	v     View[T]
	out   *bufio.Writer
	csv   *csv.Writer
	items []T
	any   bool
}

// NewStream returns a Stream in the format of the printer: table, json, jsonl, csv or, for rows separated by tabs, empty.
func NewStream[T any](p Printer, v View[T]) (*Stream[T], error) {
	s := &Stream[T]{p: p, v: v, out: bufio.NewWriterSize(p.Out, 1<<16)}
	s.p.Out = s.out
	if p.Format == "csv" {
		s.csv = csv.NewWriter(s.out)
		return s, s.csv.Write(v.Names())
	}
	return s, nil
}

// Add prints an item.
func (s *Stream[T]) Add(item T) error {
	first := !s.any
	s.any = true
	switch s.p.Format {
	case "table":
		s.items = append(s.items, item)
		return nil
	case "csv":
		return s.csv.Write(csvRow(s.v, item))
	case "json", "jsonl":
		return s.addJSON(item, first)
	}
	return Rows(s.p, s.v, []T{item})
}

// addJSON prints a line of jsonl, or an element of an array as encoding/json indents it.
func (s *Stream[T]) addJSON(item T, first bool) error {
	text, err := object[T]{s.v, item}.MarshalJSON()
	if err != nil {
		return err
	}
	if s.p.Format == "jsonl" {
		_, err = s.out.Write(append(text, '\n'))
		return err
	}
	var element bytes.Buffer
	begin := ",\n  "
	if first {
		begin = "[\n  "
	}
	element.WriteString(begin)
	if err := json.Indent(&element, text, "  ", "  "); err != nil {
		return err
	}
	_, err = s.out.Write(element.Bytes())
	return err
}

// Close prints the end.
func (s *Stream[T]) Close() error {
	var err error
	switch {
	case s.p.Format == "table" && s.any:
		err = Table(s.p, s.v, s.items)
	case s.p.Format == "json" && s.any:
		_, err = s.out.WriteString("\n]\n")
	case s.p.Format == "json":
		_, err = s.out.WriteString("[]\n")
	case s.csv != nil:
		s.csv.Flush()
		err = s.csv.Error()
	}
	return errors.Join(err, s.out.Flush())
}
