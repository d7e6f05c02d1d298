package api

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep objects and arrays may be nested, the body itself included.
const maxDepth = 32

// object is the members of a JSON object.
type object struct {
	// known are those that were asked for and given, by name. A value's text is there only for strings and numbers.
	known map[string]member
	// unknown are the names of the first few others, shortened, and more is how many there are besides.
	unknown []string
	more    int
}

// maxNamed is how many unknown members are named.
const maxNamed = 3

// ignore remembers a member that was not asked for.
func (o *object) ignore(name string) {
	if len(o.unknown) == maxNamed {
		o.more++
		return
	}
	o.unknown = append(o.unknown, strconv.Quote(shorten(name)))
}

type member struct {
	kind jsontext.Kind
	text string
}

// readObject reads a body that has to be a JSON object (RFC 8259, and RFC 7493 for what that leaves open). Names are
// case-sensitive and must not repeat, nor in a member that is not asked for; such a member is ignored otherwise. It
// returns invalid_json, also for null in place of the object or of a known member, or validation_failed when the
// body is no object.
func readObject(data []byte, known ...string) (*object, error) {
	r := reader{jsontext.NewDecoder(bytes.NewBuffer(data)), known}
	kind := r.PeekKind()
	o, err := r.body()
	if err == nil {
		err = r.end()
	}
	switch {
	case err != nil:
		return nil, syntaxError(err)
	case kind == jsontext.KindNull:
		return nil, codeInvalidJSON.withMessage("The body must be an object, not null.")
	case kind != jsontext.KindBeginObject:
		return nil, codeValidationFailed.withMessage("The body must be an object, not " + describe(kind) + ".")
	}
	for _, name := range known {
		if o.known[name].kind == jsontext.KindNull {
			return nil, codeInvalidJSON.withMessage(name + " must not be null.")
		}
	}
	return o, nil
}

// reader reads a body token by token, so that depth is checked wherever it grows.
type reader struct {
	*jsontext.Decoder
	known []string
}

var (
	errTooDeep  = errors.New("it is nested deeper than " + strconv.Itoa(maxDepth) + " levels")
	errTrailing = errors.New("something follows behind its end")
)

// body reads one value and returns its members if it is an object.
func (r reader) body() (*object, error) {
	if r.PeekKind() != jsontext.KindBeginObject {
		return nil, r.skip()
	}
	if _, err := r.ReadToken(); err != nil {
		return nil, err
	}
	o := &object{known: map[string]member{}}
	for r.PeekKind() != jsontext.KindEndObject {
		token, err := r.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		if !slices.Contains(r.known, name) {
			o.ignore(name)
			err = r.skip()
		} else {
			o.known[name], err = r.member()
		}
		if err != nil {
			return nil, err
		}
	}
	_, err := r.ReadToken()
	return o, err
}

// member reads the value of a member that was asked for.
func (r reader) member() (member, error) {
	kind := r.PeekKind()
	if kind != jsontext.KindString && kind != jsontext.KindNumber {
		return member{kind: kind}, r.skip()
	}
	token, err := r.ReadToken()
	if err != nil {
		return member{}, err
	}
	return member{kind: kind, text: token.String()}, nil
}

// skip reads one value to its end.
func (r reader) skip() error {
	outside := r.StackDepth()
	for {
		if _, err := r.ReadToken(); err != nil {
			return err
		}
		switch depth := r.StackDepth(); {
		case depth > maxDepth:
			return errTooDeep
		case depth <= outside:
			return nil
		}
	}
}

// end makes sure that nothing follows.
func (r reader) end() error {
	_, err := r.ReadToken()
	switch {
	case err == nil:
		return errTrailing
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// syntaxError says where a body stops being JSON.
func syntaxError(err error) error {
	syntax, isSyntax := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.EOF):
		return codeInvalidJSON.withMessage("The body is not valid JSON: it holds nothing but white space.")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return codeInvalidJSON.withMessage("The body is not valid JSON: it ends too early.")
	case !isSyntax:
		return codeInvalidJSON.withMessage("The body is not valid JSON: " + err.Error() + ".")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return codeInvalidJSON.withMessage("The body is not valid JSON: the member " +
			strconv.Quote(shorten(syntax.JSONPointer.LastToken())) + " appears twice.")
	}
	return codeInvalidJSON.withMessage("The body is not valid JSON: " + shorten(syntax.Err.Error()) + " at byte " +
		strconv.FormatInt(syntax.ByteOffset, 10) + ".")
}

// shorten keeps what a client sent from filling the message.
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
