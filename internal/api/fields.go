package api

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"petstore.example/internal/catalog"
)

// problems collects what is wrong with a request, so that all of it is said at once.
type problems []string

func (p *problems) add(problem string) { *p = append(*p, problem) }

func (p *problems) String() string { return strings.Join(*p, "; ") + "." }

// fields are the members of a body, and what was found wrong with them. A member that is missing or wrong is read as nil.
type fields struct {
	*object
	problems
}

// readFields reads a body. Members that are not known are a problem in a strict one only.
func readFields(data []byte, strict bool, known ...string) (*fields, error) {
	o, err := readObject(data, known...)
	if err != nil {
		return nil, err
	}
	f := &fields{object: o}
	if strict && len(o.unknown) > 0 {
		f.refuseUnknown(known)
	}
	return f, nil
}

func (f *fields) refuseUnknown(known []string) {
	names := strings.Join(f.unknown, ", ")
	if f.more > 0 {
		names += " and " + strconv.Itoa(f.more) + " more"
	}
	f.add("unknown members: " + names + " (with Prefer: handling=strict the body may have only " + strings.Join(known, ", ") + ")")
}

// err returns validation_failed, which names all problems, or nil.
func (f *fields) err() error {
	if len(f.problems) == 0 {
		return nil
	}
	return codeValidationFailed.withMessage(f.String())
}

// require makes a missing member a problem.
func (f *fields) require(name string) {
	if _, ok := f.known[name]; !ok {
		f.add(name + " is required")
	}
}

func (f *fields) text(name string) *string {
	m, ok := f.known[name]
	switch {
	case !ok:
		return nil
	case m.kind != jsontext.KindString:
		f.add(name + " must be a string, not " + describe(m.kind))
		return nil
	}
	return &m.text
}

func (f *fields) integer(name string) *int64 {
	m, ok := f.known[name]
	switch {
	case !ok:
		return nil
	case m.kind != jsontext.KindNumber:
		f.add(name + " must be an integer, not " + describe(m.kind))
		return nil
	}
	n, err := parseInteger(m.text)
	if err != nil {
		f.add(name + " " + err.Error())
		return nil
	}
	return &n
}

// name is an animal's.
func (f *fields) name() *string {
	name := f.text("name")
	if name == nil {
		return nil
	}
	if err := catalog.CheckName(*name); err != nil {
		f.add(err.Error())
		return nil
	}
	return name
}

// status reads one of the statuses that parse knows and all names.
func status[S ~string](f *fields, parse func(string) (S, bool), all string) *S {
	text := f.text("status")
	if text == nil {
		return nil
	}
	s, ok := parse(*text)
	if !ok {
		f.add("status must be one of " + all)
		return nil
	}
	return &s
}
