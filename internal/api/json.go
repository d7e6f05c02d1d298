package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// encoder writes JSON into a buffer of its own, as is: & and < stay readable.
type encoder struct {
	bytes.Buffer
	json *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.Buffer)
	e.json.SetEscapeHTML(false)
	return e
}}

// maxKept is the largest buffer to keep for the next answer: a page of long names is rare.
const maxKept = 256 << 10

// encode writes a value into an encoder, which has to be released when its bytes are no longer needed.
func encode(v any) (*encoder, error) {
	e := encoders.Get().(*encoder)
	if err := e.json.Encode(v); err != nil {
		e.release()
		return nil, fmt.Errorf("write answer: %w", err)
	}
	return e, nil
}

func (e *encoder) release() {
	if e.Cap() <= maxKept {
		e.Reset()
		encoders.Put(e)
	}
}

// encodeJSON returns a value as the API writes it.
func encodeJSON(v any) ([]byte, error) {
	e, err := encode(v)
	if err != nil {
		return nil, err
	}
	defer e.release()
	return bytes.Clone(e.Bytes()), nil
}

// json answers 200 with a value.
func (x *exchange) json(v any) error {
	e, err := encode(v)
	if err != nil {
		return err
	}
	defer e.release()
	x.write(http.StatusOK, e.Bytes())
	return nil
}
