package api

import (
	"bytes"
	"net/http"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/catalog"
)

// writeItem responds 200 with an animal or an order and its ETag, or 304 if the client has it.
func (x *exchange) writeItem(v any) error {
	b, err := jsonbody.Encode(v)
	if err != nil {
		return err
	}
	defer b.Release()
	tag := itemTag(b.Bytes())
	x.set("ETag", tag)
	if x.isRead() && httpfield.NoneMatch(x.Request.Header["If-None-Match"], tag) {
		x.write(http.StatusNotModified, nil)
		return nil
	}
	x.write(http.StatusOK, b.Bytes())
	return nil
}

// itemTag returns the ETag of an animal or an order, made of its JSON with or without the line end. A list with this item alone has the
// same ETag (listTag).
func itemTag(body []byte) string { return httpfield.ETag(bytes.TrimSuffix(body, []byte("\n"))) }

// ifMatch returns the precondition of a PATCH by If-Match (RFC 9110, section 13.1.1), nil if the request has none. It compares strongly:
// a weak ETag never matches.
func ifMatch[T any](x *exchange) func(T) error {
	values, given := x.Request.Header["If-Match"]
	if !given {
		return nil
	}
	return func(item T) error {
		b, err := jsonbody.Encode(&item)
		if err != nil {
			return err
		}
		defer b.Release()
		switch httpfield.Match(values, itemTag(b.Bytes())) {
		case httpfield.Matches:
			return nil
		case httpfield.MatchesWeakly:
			return errWeakTag
		case httpfield.NoTag:
			return errNoTag
		default:
			return catalog.ErrPreconditionFailed
		}
	}
}

// Preconditions that fail for another reason than a change.
var (
	errWeakTag = failedPrecondition(`If-Match has the current ETag in its weak form W/"…", which never matches. ` +
		`A proxy that compresses responses made it weak: send the ETag without W/.`)
	errNoTag = failedPrecondition(`If-Match must be * or a list of ETags, each in double quotes as you received it.`)
)

// failedPrecondition returns an error that the store knows as ErrPreconditionFailed.
func failedPrecondition(message string) *Error {
	e := codePreconditionFailed.withMessage(message)
	e.cause = catalog.ErrPreconditionFailed
	return e
}
