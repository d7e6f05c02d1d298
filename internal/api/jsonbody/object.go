package jsonbody

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxBytes is the longest body of a request.
const MaxBytes = 1 << 20

// maxNamed is how many unknown members a message names.
const maxNamed = 3

// Object holds the members of a JSON object, and what was found wrong with them.
type Object struct {
	known map[string]member
	// unknown names the first few other members, shortened; more counts the rest.
	unknown  []string
	more     int
	problems []string
}

// member is a value. The text is set for strings and numbers only, and texts for an array of
// strings, which are nil for another array. end is where it ends in the body.
type member struct {
	kind  jsontext.Kind
	end   int
	text  string
	texts []string
}

// Read reads a body that must be a JSON object. Members other than the known ones are ignored; if
// strict, they are a problem, which Err reports. It returns a *SyntaxError also for null, in place
// of the object or of a known member, and a *ValidationError for any other value that is no object.
func Read(data []byte, strict bool, known ...string) (*Object, error) {
	return ReadNullable(data, strict, nil, known...)
}

// ReadNullable is Read with known members that may be null: those that are named so. Null reports
// which are; any other method takes them as missing.
func ReadNullable(data []byte, strict bool, nullable []string, known ...string) (*Object, error) {
	r := reader{jsontext.NewDecoder(bytes.NewBuffer(data)), data, known}
	kind := r.PeekKind()
	o, err := r.body()
	if err == nil {
		err = r.end()
	}
	switch {
	case err != nil:
		return nil, r.syntaxError(err)
	case kind == jsontext.KindNull:
		return nil, &SyntaxError{
			"The body must be an object, not null" + Position(data, len(data)-len(bytes.TrimLeft(data, white))) + ".",
		}
	case kind != jsontext.KindBeginObject:
		return nil, &ValidationError{"The body must be an object, not " + describe(kind) + "."}
	}
	for _, name := range known {
		if o.Null(name) && !slices.Contains(nullable, name) {
			return nil, &SyntaxError{
				name + " must not be null" + Position(data, o.known[name].end-len("null")) + ".",
			}
		}
	}
	if strict {
		o.rejectUnknown(known)
	}
	return o, nil
}

// ignore notes an unknown member.
func (o *Object) ignore(name string) {
	if len(o.unknown) == maxNamed {
		o.more++
		return
	}
	o.unknown = append(o.unknown, strconv.Quote(shorten(name)))
}

func (o *Object) rejectUnknown(known []string) {
	if len(o.unknown) == 0 {
		return
	}
	names := strings.Join(o.unknown, ", ")
	if o.more > 0 {
		names += " and " + strconv.Itoa(o.more) + " more"
	}
	o.Reject("unknown members " + names + ": want only " + strings.Join(known, ", "))
}

// Reject adds a problem to those that Err reports. It names the member and says what is wrong with
// it.
func (o *Object) Reject(problem string) { o.problems = append(o.problems, problem) }

// Err returns a *ValidationError that names all problems, or nil.
func (o *Object) Err() error {
	if len(o.problems) == 0 {
		return nil
	}
	return &ValidationError{strings.Join(o.problems, "; ") + "."}
}

// Require rejects the object if a member is missing.
func (o *Object) Require(name string) {
	if _, ok := o.known[name]; !ok {
		o.Reject(name + " is required")
	}
}

// Null reports whether a member is null.
func (o *Object) Null(name string) bool { return o.known[name].kind == jsontext.KindNull }

// of returns a member of that kind. ok is false if it is missing or null, or of another kind, which
// is rejected.
func (o *Object) of(name string, kind jsontext.Kind) (m member, ok bool) {
	m, ok = o.known[name]
	if ok = ok && m.kind != jsontext.KindNull; ok && m.kind != kind {
		o.Reject(name + " must be " + describe(kind) + ", not " + describe(m.kind))
		return m, false
	}
	return m, ok
}

// Texts returns a member that is an array of strings, never nil. It returns nil if the member is
// missing or, rejected, no such array.
func (o *Object) Texts(name string) []string {
	m, ok := o.of(name, jsontext.KindBeginArray)
	if ok && m.texts == nil {
		o.Reject(name + " must be an array of strings")
	}
	return m.texts
}

// True reports whether a member is true. It is false if the member is missing or, rejected, no
// boolean.
func (o *Object) True(name string) bool {
	kind := o.known[name].kind
	if kind != jsontext.KindTrue && kind != jsontext.KindFalse && kind != jsontext.KindInvalid {
		o.Reject(name + " must be a boolean, not " + describe(kind))
	}
	return kind == jsontext.KindTrue
}

// Text returns a string member. It returns nil if the member is missing or, rejected, no string.
func (o *Object) Text(name string) *string {
	m, ok := o.of(name, jsontext.KindString)
	if !ok {
		return nil
	}
	return &m.text
}

// Integer returns an integer member. It returns nil if the member is missing or, rejected, no
// 64-bit integer.
func (o *Object) Integer(name string) *int64 {
	m, ok := o.known[name]
	switch {
	case !ok || m.kind == jsontext.KindNull:
		return nil
	case m.kind != jsontext.KindNumber:
		o.Reject(name + " must be an integer, not " + describe(m.kind))
		return nil
	}
	n, err := parseInteger(m.text)
	if err != nil {
		o.Reject(name + " " + err.Error())
		return nil
	}
	return &n
}

// Enum returns a string member that parse accepts; all lists the values for the message. It returns
// nil if the member is missing or, rejected, has another value.
func Enum[S ~string](o *Object, name string, parse func(string) (S, bool), all string) *S {
	text := o.Text(name)
	if text == nil {
		return nil
	}
	s, ok := parse(*text)
	if !ok {
		o.Reject(name + " must be one of " + all)
		return nil
	}
	return &s
}
