package jsonbody

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// SyntaxError reports a body that is not valid JSON, or null where a value is needed. The message
// has the line and the column.
type SyntaxError struct{ Message string }

func (e *SyntaxError) Error() string { return e.Message }

// ValidationError reports valid JSON that is not an object or has invalid members. The message
// names all of them.
type ValidationError struct{ Message string }

func (e *ValidationError) Error() string { return e.Message }

// syntaxError says where a body stops being JSON, and what was expected there.
func (r reader) syntaxError(err error) error {
	syntax, isSyntax := errors.AsType[*jsontext.SyntacticError](err)
	reason, end := err.Error(), int(r.InputOffset())
	switch {
	case errors.Is(err, io.EOF):
		reason = "it contains only white space" + Position(r.data, len(r.data))
	case errors.Is(err, io.ErrUnexpectedEOF):
		reason = "it ends unexpectedly" + Position(r.data, len(r.data))
	case errors.Is(err, errTrailing):
		reason += Position(r.data, len(r.data)-len(bytes.TrimLeft(r.data[end:], white)))
	case !isSyntax: // too deep, at the bracket that was read last
		reason += Position(r.data, max(0, end-1))
	case errors.Is(err, jsontext.ErrDuplicateName):
		reason = "the member " + strconv.Quote(shorten(syntax.JSONPointer.LastToken())) + " appears twice" +
			Position(r.data, min(int(syntax.ByteOffset), len(r.data)))
	default:
		reason = r.reason(syntax.Err.Error(), min(int(syntax.ByteOffset), len(r.data)))
	}
	return &SyntaxError{"The body is not valid JSON: " + reason + "."}
}

// reasons map words in jsontext's errors to what was expected or what is wrong. If jsontext changes
// these words, TestReasons fails, and messages say less.
var reasons = []struct{ words, expected, wrong string }{
	{words: "after object value", expected: "a comma or }"},
	{words: "after array element", expected: "a comma or ]"},
	{words: "in number", expected: "a digit"},
	{
		words: "non-control character",
		wrong: "a string has a control character, which must be written as an escape sequence",
	},
	{words: "escape sequence", wrong: "a string has an escape sequence that does not exist"},
	{words: "surrogate", wrong: "a string has half a surrogate pair"},
	{words: "UTF-8", wrong: "it is not UTF-8"},
}

// reason says what is wrong at a place of a body. words are jsontext's.
func (r reader) reason(words string, at int) string {
	due := r.due(at)
	if strings.Contains(words, "in literal") {
		begin := at
		for begin > 0 && 'a' <= r.data[begin-1] && r.data[begin-1] <= 'z' {
			begin--
		}
		// Any word without quotes counts as a literal.
		if due = r.due(begin); due == aValue {
			due = "true, false or null"
		} else {
			at = begin
		}
	}
	for _, known := range reasons {
		if strings.Contains(words, known.words) {
			if due = known.expected; due == "" {
				return known.wrong + Position(r.data, at)
			}
		}
	}
	if after, comma := bytes.CutPrefix(r.data[at:], []byte(",")); comma {
		if after = bytes.TrimLeft(
			after,
			white,
		); bytes.HasPrefix(after, []byte("}")) ||
			bytes.HasPrefix(after, []byte("]")) {
			return "a comma must not come before " + string(after[0]) + Position(r.data, at)
		}
	}
	return "expected " + due + ", found " + first(r.data[at:]) + Position(r.data, at)
}

const aValue = "a value"

// due says what may begin at a position, given what is open there.
func (r reader) due(at int) string {
	switch kind, length := r.StackIndex(r.StackDepth()); {
	case kind == jsontext.KindInvalid:
		return "an object, which begins with {"
	case kind == jsontext.KindBeginObject && length%2 == 0:
		return "a name in double quotes"
	case kind == jsontext.KindBeginObject && !bytes.HasSuffix(bytes.TrimRight(r.data[:at], white), []byte(":")):
		return "a colon and a value"
	}
	return aValue
}

// white is the white space of JSON.
const white = " \t\r\n"

// first describes the first character of the rest of a body.
func first(rest []byte) string {
	switch c, size := utf8.DecodeRune(rest); {
	case size == 0:
		return "the end"
	case c == '\'':
		return "a single quote"
	case c == '\ufeff':
		return "a byte order mark"
	default:
		return strconv.QuoteRune(c)
	}
}

// Position returns the line and the character of a byte of a body, both counted from 1, as in "
// (line 1, column 1)".
func Position(data []byte, at int) string {
	before := data[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return " (line " + strconv.Itoa(line) + ", column " + strconv.Itoa(column) + ")"
}

// shorten limits how much of a client's text a message repeats.
func shorten(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return string(bytes.ToValidUTF8([]byte(s[:most]), nil)) + "…"
}

// describe names a kind of value in words.
func describe(k jsontext.Kind) string {
	switch k {
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "a boolean"
	case jsontext.KindBeginArray:
		return "an array"
	case jsontext.KindBeginObject:
		return "an object"
	}
	return "null"
}
