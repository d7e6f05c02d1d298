package output

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
)

// Stream prints items as List does, but one by one, so memory holds one. Only two formats hold all
// items: a table, to align its columns, and JSON with a Filter, whose input is the array. A Stream
// is for one goroutine. The output is complete when Close has returned nil.
type Stream[T any] struct {
	p     Printer
	v     View[T]
	out   *bufio.Writer
	csv   *csv.Writer
	items []T
	// array is the input of a filter.
	array []json.RawMessage
	any   bool
}

// NewStream returns a Stream in the format of the printer.
func NewStream[T any](p Printer, v View[T]) (*Stream[T], error) {
	v, err := v.pick(p.Columns)
	if err != nil {
		return nil, err
	}
	s := &Stream[T]{p: p, v: v, out: bufio.NewWriterSize(p.Out, 1<<16)}
	s.p.Out, s.p.Columns = s.out, nil
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
		text, err := object[T]{s.v, item}.MarshalJSON()
		if err != nil {
			return err
		}
		return s.addJSON(text, first)
	}
	return Rows(s.p, s.v, []T{item})
}

// addJSON prints a line of jsonl, or an element of an array as encoding/json indents it.
func (s *Stream[T]) addJSON(text []byte, first bool) error {
	switch {
	case s.p.Filter != nil && s.p.Format == "jsonl":
		return s.p.Filter.print(s.p, s.out, text)
	case s.p.Filter != nil:
		s.array = append(s.array, text)
		return nil
	case s.p.Format == "jsonl":
		_, err := s.out.Write(append(text, '\n'))
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
	_, err := s.out.Write(element.Bytes())
	return err
}

// Flush prints the items added so far, if the format allows it, for a list that grows while it is
// read.
func (s *Stream[T]) Flush() error {
	if s.csv != nil {
		s.csv.Flush()
		if err := s.csv.Error(); err != nil {
			return err
		}
	}
	return s.out.Flush()
}

// Close prints the end.
func (s *Stream[T]) Close() error {
	return errors.Join(s.end(), s.out.Flush())
}

func (s *Stream[T]) end() error {
	switch {
	case s.csv != nil:
		s.csv.Flush()
		return s.csv.Error()
	case s.p.Format == "table" && s.any:
		return Table(s.p, s.v, s.items)
	case s.p.Format == "json" && s.p.Filter != nil:
		return s.p.Filter.print(s.p, s.out, mustMarshal(append([]json.RawMessage{}, s.array...)))
	case s.p.Format == "json" && s.any:
		_, err := s.out.WriteString("\n]\n")
		return err
	case s.p.Format == "json":
		_, err := s.out.WriteString("[]\n")
		return err
	}
	return nil
}
