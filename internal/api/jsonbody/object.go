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

// Object holds the members of a JSON object, and what is wrong with them.
type Object struct {
	known map[string]member
	// unknown has the first few names of unknown members, shortened. more counts the others.
	unknown  []string
	more     int
	problems []string
}

// member is a value. text is set only for strings and numbers. texts is set for an array of
// strings, and nil for any other array. end is where the value ends in the body.
type member struct {
	kind  jsontext.Kind
	end   int
	text  string
	texts []string
}

// Read reads a body that must be a JSON object. Unknown members are ignored; if strict is set, they
// are problems that Err reports. Read returns a *SyntaxError also for null in place of the object
// or of a known member. It returns a *ValidationError for any other value that is not an object.
func Read(data []byte, strict bool, known ...string) (*Object, error) {
	return ReadNullable(data, strict, nil, known...)
}

// ReadNullable is Read, but the known members in nullable may be null. Null reports whether one is;
// all other methods treat a null member as missing.
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

// ignore records an unknown member.
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

// Reject adds a problem to what Err reports. Its text names the member and says what is wrong with
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

// The method of returns a member of the kind. ok is false if the member is missing, null or of
// another kind. A member of another kind is rejected.
func (o *Object) of(name string, kind jsontext.Kind) (m member, ok bool) {
	m, ok = o.known[name]
	if ok = ok && m.kind != jsontext.KindNull; ok && m.kind != kind {
		o.Reject(name + " must be " + describe(kind) + ", not " + describe(m.kind))
		return m, false
	}
	return m, ok
}

// Texts returns a member that is an array of strings, nil if it is missing. It rejects any other
// value and returns nil.
func (o *Object) Texts(name string) []string {
	m, ok := o.of(name, jsontext.KindBeginArray)
	if ok && m.texts == nil {
		o.Reject(name + " must be an array of strings")
	}
	return m.texts
}

// True reports whether a member is true. It rejects a value that is not a boolean.
func (o *Object) True(name string) bool {
	kind := o.known[name].kind
	if kind != jsontext.KindTrue && kind != jsontext.KindFalse && kind != jsontext.KindInvalid {
		o.Reject(name + " must be a boolean, not " + describe(kind))
	}
	return kind == jsontext.KindTrue
}

// Text returns a string member, nil if it is missing. It rejects any other value and returns nil.
func (o *Object) Text(name string) *string {
	m, ok := o.of(name, jsontext.KindString)
	if !ok {
		return nil
	}
	return &m.text
}

// Integer returns an integer member, nil if it is missing. It rejects a value that is not a 64-bit
// integer and returns nil.
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

// Enum returns a string member that parse accepts, nil if it is missing. It rejects any other value
// and returns nil. all lists the values for the message.
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
