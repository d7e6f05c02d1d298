package jsonbody

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
)

// Buffer holds an encoded value. It comes from a pool.
type Buffer struct {
	bytes.Buffer
	encoder *json.Encoder
}

var buffers = sync.Pool{New: func() any {
	b := &Buffer{}
	b.encoder = json.NewEncoder(&b.Buffer)
	b.encoder.SetEscapeHTML(false)
	return b
}}

// maxPooled is the largest buffer that is reused. Larger ones, from pages of long names, are rare.
const maxPooled = 256 << 10

// Encode returns a value as JSON that ends in a line break; &, < and > are not escaped. The caller
// must Release the buffer when it no longer needs its bytes.
func Encode(v any) (*Buffer, error) {
	b := buffers.Get().(*Buffer)
	if err := b.encoder.Encode(v); err != nil {
		b.Release()
		return nil, fmt.Errorf("encode response: %w", err)
	}
	return b, nil
}

// Release returns the buffer to the pool.
func (b *Buffer) Release() {
	if b.Cap() <= maxPooled {
		b.Reset()
		buffers.Put(b)
	}
}

// Marshal is Encode, but returns a copy of the bytes, which need no Release.
func Marshal(v any) ([]byte, error) {
	b, err := Encode(v)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	return bytes.Clone(b.Bytes()), nil
}
