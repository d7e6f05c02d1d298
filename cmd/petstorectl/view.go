package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// column is one value of a thing of type T. Its name is the member in JSON and the heading in CSV; both are promised.
type column[T any] struct {
	name string
	// heading is the table's; empty for the name in capitals.
	heading string
	// value returns a string ("" for none), a bool, an int64, a *int64 (nil for none), a time (zero for none), a []string or raw JSON.
	value func(T) any
	// short is set on the columns of a list's table; the others are shown for one thing, in JSON and in CSV.
	short bool
	// least is the width down to which the column is cut when a terminal is too narrow; 0 for never.
	least int
}

func (c column[T]) headingText() string {
	if c.heading != "" {
		return c.heading
	}
	return strings.ToUpper(strings.ReplaceAll(c.name, "_", " "))
}

// view is how things of type T are printed.
type view[T any] []column[T]

func (v view[T]) shorts() view[T] {
	var shorts view[T]
	for _, c := range v {
		if c.short {
			shorts = append(shorts, c)
		}
	}
	return shorts
}

// with is the view with one more column in its table.
func (v view[T]) with(name string) view[T] {
	more := slices.Clone(v)
	for i := range more {
		more[i].short = more[i].short || more[i].name == name
	}
	return more
}

// without is the view with one column less in its table.
func (v view[T]) without(name string) view[T] {
	fewer := slices.Clone(v)
	for i := range fewer {
		fewer[i].short = fewer[i].short && fewer[i].name != name
	}
	return fewer
}

// exact is the view with its times as they are, on a terminal too.
func (v view[T]) exact() view[T] {
	exact := slices.Clone(v)
	for i, c := range v {
		exact[i].value = func(t T) any {
			if at, ok := c.value(t).(time.Time); ok {
				return plain(at)
			}
			return c.value(t)
		}
	}
	return exact
}

func (v view[T]) names() []string {
	names := make([]string, len(v))
	for i, c := range v {
		names[i] = c.name
	}
	return names
}

// over is a view of things that hold a T.
func over[D, T any](v view[T], inner func(D) T) view[D] {
	out := make(view[D], len(v))
	for i, c := range v {
		out[i] = column[D]{c.name, c.heading, func(d D) any { return c.value(inner(d)) }, c.short, c.least}
	}
	return out
}

// printList prints things in the format asked for: an array in JSON, a table for a terminal, plain rows for a pipe.
func printList[T any](f *factory, v view[T], things []T) error {
	switch f.format() {
	case "json":
		list := make([]object[T], len(things))
		for i, t := range things {
			list[i] = object[T]{v, t}
		}
		return printJSON(f.streams.out, list)
	case "csv":
		return printCSV(f.streams.out, v, things)
	case "table":
		return printTable(f, v.shorts(), things)
	}
	return printRows(f.streams.out, v.shorts(), things)
}

// printLimited prints at most limit things, and says when there are more or none.
func printLimited[T any](f *factory, v view[T], things []T, limit int, none string) error {
	if len(things) > limit {
		f.streams.say("showing the first %d; use --limit for more", limit)
		things = things[:limit]
	}
	if len(things) == 0 {
		f.streams.say("%s", none)
		if f.output == "" || f.output == "table" {
			return nil
		}
	}
	return printList(f, v, things)
}

// printOne prints one thing with all its values: an object in JSON, otherwise a line a value.
func printOne[T any](f *factory, v view[T], thing T) error {
	switch f.format() {
	case "json":
		return printJSON(f.streams.out, object[T]{v, thing})
	case "csv":
		return printCSV(f.streams.out, v, []T{thing})
	}
	pairs := make([]pair, len(v))
	for i, c := range v {
		pairs[i] = pair{c.name, c.value(thing)}
	}
	if f.format() == "table" {
		return printPairs(f, pairs)
	}
	return printRows(f.streams.out, pairView, pairs)
}

// printChanged prints what a change made, for programs: a person who watches has been told in a sentence.
func printChanged[T any](f *factory, v view[T], thing T) error {
	if f.output == "" && f.streams.outTTY && !f.dryRun {
		return nil
	}
	return printOne(f, v, thing)
}

// format is the one asked for; without one, a terminal gets a table and a pipe plain rows.
func (f *factory) format() string {
	if f.output == "" && f.streams.outTTY {
		return "table"
	}
	return f.output
}

type pair struct {
	name  string
	value any
}

var pairView = view[pair]{
	{name: "name", value: func(p pair) any { return p.name }},
	{name: "value", value: func(p pair) any { return p.value }},
}

// object is a thing as a JSON object with the columns in their order.
type object[T any] struct {
	columns view[T]
	thing   T
}

// MarshalJSON implements json.Marshaler.
func (o object[T]) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for i, c := range o.columns {
		out.WriteByte("{,"[min(i, 1)])
		value, err := marshal(jsonValue(c.value(o.thing)))
		if err != nil {
			return nil, err
		}
		out.WriteString(strconv.Quote(c.name) + ":")
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func jsonValue(v any) any {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil
		}
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return v.UTC()
	case json.RawMessage:
		if len(v) == 0 {
			return nil
		}
	case []string:
		if v == nil {
			return []string{}
		}
	}
	return v
}

// marshal keeps <, > and & as they are: the output goes to programs, not into a page.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func printCSV[T any](w io.Writer, v view[T], things []T) error {
	out := csv.NewWriter(w)
	if err := out.Write(v.names()); err != nil {
		return err
	}
	for _, t := range things {
		if err := out.Write(plainRow(v, t)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// printRows prints a line a thing, its values separated by tabs.
func printRows[T any](w io.Writer, v view[T], things []T) error {
	for _, t := range things {
		if _, err := io.WriteString(w, strings.Join(plainRow(v, t), "\t")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func plainRow[T any](v view[T], thing T) []string {
	row := make([]string, len(v))
	for i, c := range v {
		row[i] = plain(c.value(thing))
	}
	return row
}

// plain is a value for programs: times in RFC 3339, numbers as digits, nothing for none.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return cleanCell(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case *int64:
		if v != nil {
			return strconv.FormatInt(*v, 10)
		}
	case time.Time:
		if !v.IsZero() {
			return v.UTC().Format(time.RFC3339)
		}
	case []string:
		return cleanCell(strings.Join(v, ","))
	case json.RawMessage:
		return cleanCell(string(v))
	}
	return ""
}

// cleanCell takes out what could move a terminal's cursor, colour it or turn the direction of text: whatever customers
// and staff put into names and reasons is printed as text and nothing else.
func cleanCell(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
