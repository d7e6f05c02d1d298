package api

import (
	"io"
	"mime"
	"strings"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/jsonbody"
)

// handlingStrict is the Preference-Applied after strict handling.
var handlingStrict = []string{"handling=strict"}

// readBody returns the body of a request that must be JSON, and whether the client prefers strict handling, which the
// response then confirms. A body that is too long is not read to its end.
func readBody(x *exchange) (data []byte, strict bool, err error) {
	data, err = readAll(x)
	if err == nil {
		err = checkMediaType(x)
	}
	if err != nil {
		return nil, false, err
	}
	strict = httpfield.PrefersStrict(x.Request.Header["Prefer"])
	if strict {
		x.headers.Header["Preference-Applied"] = handlingStrict
	}
	return data, strict, nil
}

func readAll(x *exchange) ([]byte, error) {
	if x.Request.ContentLength > jsonbody.MaxBytes {
		return nil, tooLarge(x)
	}
	data, err := io.ReadAll(io.LimitReader(x.Request.Body, jsonbody.MaxBytes+1))
	x.bodyRead = true
	switch {
	case len(data) > jsonbody.MaxBytes:
		return nil, tooLarge(x)
	case err != nil:
		return nil, x.brokenBody()
	case len(data) == 0:
		// Before the check of the media type: a client that sends no body sends no type either.
		return nil, codeMissingBody.err()
	}
	return data, nil
}

// tooLarge closes the connection, because the rest of the body is not read.
func tooLarge(x *exchange) error {
	x.set("Connection", "close")
	return codeBodyTooLarge.err()
}

func checkMediaType(x *exchange) error {
	h := x.Request.Header
	if types := h["Content-Type"]; len(types) != 1 || !isJSON(types[0]) {
		x.set("Accept", "application/json")
		return codeUnsupportedMediaType.withMessage("Content-Type must be application/json, with charset utf-8 or none.")
	}
	if encodings := h["Content-Encoding"]; len(encodings) > 0 && !strings.EqualFold(strings.Join(encodings, ","), "identity") {
		x.set("Accept", "application/json")
		x.set("Accept-Encoding", "identity")
		return codeUnsupportedMediaType.withMessage("Content-Encoding must be identity. Send the body uncompressed.")
	}
	return nil
}

// isJSON accepts application/json, with no parameter except charset=utf-8.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" {
		return false
	}
	charset, ok := params["charset"]
	return len(params) == 0 || len(params) == 1 && ok && strings.EqualFold(charset, "utf-8")
}
