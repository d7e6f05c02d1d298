package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf16"
)

// object is an item as a JSON object with the columns in order.
type object[T any] struct {
	columns View[T]
	item    T
}

func objects[T any](v View[T], items []T) []object[T] {
	list := make([]object[T], len(items))
	for i, item := range items {
		list[i] = object[T]{v, item}
	}
	return list
}

// MarshalJSON implements json.Marshaler.
func (o object[T]) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for i, c := range o.columns {
		out.WriteByte("{,"[min(i, 1)])
		value, err := marshal(jsonValue(c.Value(o.item)))
		if err != nil {
			return nil, err
		}
		out.WriteString(strconv.Quote(c.Name) + ":")
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// jsonValue returns nil for a value that is not set.
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
		if y := v.UTC().Year(); y < 0 || y > 9999 {
			return Text(v) // encoding/json refuses such a time, but the database may have it
		}
		return v.UTC()
	case instant:
		return jsonValue(v.in(nil))
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

// ListJSON returns items as a JSON array, for a column of another view.
func ListJSON[T any](v View[T], items []T) json.RawMessage { return mustMarshal(objects(v, items)) }

// ItemJSON returns an item as a JSON object, for a column of another view.
func ItemJSON[T any](v View[T], item T) json.RawMessage { return mustMarshal(object[T]{v, item}) }

// mustMarshal can't fail: columns are texts, numbers, times and JSON that was read from a database.
func mustMarshal(v any) json.RawMessage {
	text, err := marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// marshal does not escape <, > and &: the output goes to programs, not into an HTML page.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return escapeHidden(bytes.TrimSpace(out.Bytes())), err
}

// escapeHidden escapes the characters of a JSON text that Clean removes from other texts.
// encoding/json leaves U+009B, which moves the cursor of some terminals, and U+202E. The joiners
// stay.
func escapeHidden(text []byte) []byte {
	isHidden := func(r rune) bool { return r >= 0x7F && visible(r) < 0 }
	if !bytes.ContainsFunc(text, isHidden) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !isHidden(r):
			out.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
