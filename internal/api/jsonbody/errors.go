package jsonbody

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// SyntaxError reports a body that is not valid JSON, or null where a value is needed.
type SyntaxError struct{ Message string }

func (e *SyntaxError) Error() string { return e.Message }

// ValidationError reports valid JSON that is no object or has invalid members. The message names all of them.
type ValidationError struct{ Message string }

func (e *ValidationError) Error() string { return e.Message }

// syntaxError says where a body stops being JSON.
func syntaxError(err error) error {
	syntax, isSyntax := errors.AsType[*jsontext.SyntacticError](err)
	reason := err.Error()
	switch {
	case errors.Is(err, io.EOF):
		reason = "it contains only white space"
	case errors.Is(err, io.ErrUnexpectedEOF):
		reason = "it ends unexpectedly"
	case !isSyntax:
	case errors.Is(err, jsontext.ErrDuplicateName):
		reason = "the member " + strconv.Quote(shorten(syntax.JSONPointer.LastToken())) + " appears twice"
	default:
		reason = shorten(syntax.Err.Error()) + " at byte " + strconv.FormatInt(syntax.ByteOffset, 10)
	}
	return &SyntaxError{"The body is not valid JSON: " + reason + "."}
}

// shorten limits how much of the client's own text a message repeats.
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
