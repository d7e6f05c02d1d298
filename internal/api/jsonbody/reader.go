package jsonbody

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep objects and arrays may be nested, including the body itself.
const maxDepth = 32

var (
	errTooDeep  = errors.New("it is nested deeper than " + strconv.Itoa(maxDepth) + " levels")
	errTrailing = errors.New("more data follows its end")
)

// reader reads a body token by token, so that it can check the depth everywhere.
type reader struct {
	*jsontext.Decoder
	data  []byte
	known []string
}

// body reads one value and returns its members if it is an object.
func (r reader) body() (*Object, error) {
	if r.PeekKind() != jsontext.KindBeginObject {
		return nil, r.skip()
	}
	if _, err := r.ReadToken(); err != nil {
		return nil, err
	}
	o := &Object{known: map[string]member{}}
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

// member reads the value of a known member.
func (r reader) member() (member, error) {
	kind := r.PeekKind()
	switch kind {
	case jsontext.KindBeginArray:
		return r.array()
	case jsontext.KindString, jsontext.KindNumber:
	default:
		err := r.skip()
		return member{kind: kind, end: int(r.InputOffset())}, err
	}
	token, err := r.ReadToken()
	if err != nil {
		return member{}, err
	}
	return member{kind: kind, text: token.String()}, nil
}

// array reads an array. It keeps the items if all of them are strings.
func (r reader) array() (member, error) {
	m := member{kind: jsontext.KindBeginArray, texts: []string{}}
	_, err := r.ReadToken()
	for err == nil && r.PeekKind() != jsontext.KindEndArray {
		if r.PeekKind() != jsontext.KindString {
			m.texts, err = nil, r.skip()
			continue
		}
		var item jsontext.Token
		if item, err = r.ReadToken(); m.texts != nil && err == nil {
			m.texts = append(m.texts, item.String())
		}
	}
	if err == nil {
		_, err = r.ReadToken()
	}
	return m, err
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

// end checks that nothing follows.
func (r reader) end() error {
	if len(bytes.TrimLeft(r.data[r.InputOffset():], white)) > 0 {
		return errTrailing
	}
	return nil
}
