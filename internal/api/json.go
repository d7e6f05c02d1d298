package api

import (
	"net/http"

	"petstore.example/internal/api/jsonbody"
)

// json answers 200 with a value.
func (x *exchange) json(v any) error {
	b, err := jsonbody.Encode(v)
	if err != nil {
		return err
	}
	defer b.Release()
	x.write(http.StatusOK, b.Bytes())
	return nil
}
