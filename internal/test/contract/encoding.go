package contract

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// checkEncoding checks Content-Encoding, Vary and the strength of the ETag, as our own server sends
// them. The server compresses only pages of lists and the OpenAPI document, for clients that accept
// it. The compressed form has the weak tag, and Vary tells caches that there is another form. The
// uncompressed form has the same Vary, and the strong tag. HEAD and 304 have the Vary and the tag
// that GET would have with 200 (RFC 9110, section 15.4.5); 304 has no encoding.
func (r *response) checkEncoding(x Exchange, o *Operation) error {
	encoding, vary, tag := x.Header.Get("Content-Encoding"), strings.Join(
		x.Header.Values("Vary"),
		", ",
	), tagOf(x.Header)
	if x.Uncompressed {
		encoding = "gzip"
	}
	_, tagged := r.headers["Etag"]
	_, page := r.headers["X-Next-Cursor"]
	page = page || tagged && o != nil && o.Open
	accepted, unchanged := x.Request.Header["Accept-Encoding"], x.Status == http.StatusNotModified
	weak, packed := strings.HasPrefix(tag, "W/"), encoding != ""
	var wrong string
	switch {
	case encoding != "" && encoding != "gzip":
		wrong = "another encoding"
	case packed && (!page || unchanged):
		wrong = "this is not compressed"
	case (weak || packed) && vary == "":
		wrong = "a compressed form for every cache"
	case packed && !weak:
		wrong = "compressed, with the tag of what is not"
	case weak && !packed && !unchanged:
		wrong = "not compressed, with the tag of what is"
	// http.Transport does not show the Accept-Encoding that it adds.
	case weak && accepted != nil && !strings.Contains(strings.ToLower(strings.Join(accepted, ",")), "gzip") &&
		!strings.Contains(accepted[0], "*"):
		wrong = "compressed, and nobody asked for that"
	case page && vary != "" && !weak && len(accepted) == 1 && accepted[0] == "gzip":
		wrong = "not compressed, although the client asked for that"
	default:
		return nil
	}
	return fmt.Errorf("%s: Content-Encoding %q, Vary %q and ETag %q", wrong, encoding, vary, tag)
}

// decoded returns the content of the body.
func decoded(x Exchange) ([]byte, error) {
	switch encoding := x.Header.Get("Content-Encoding"); {
	case x.Uncompressed || encoding == "":
		return x.Body, nil
	case encoding != "gzip":
		return nil, fmt.Errorf("the Content-Encoding is %q", encoding)
	}
	r, err := gzip.NewReader(bytes.NewReader(x.Body))
	if err == nil {
		x.Body, err = io.ReadAll(r)
	}
	if err != nil {
		return nil, fmt.Errorf("compressed body: %w", err)
	}
	return x.Body, nil
}

// tagOf returns the ETag. Our server spells the header differently from Go.
func tagOf(h http.Header) string {
	for name, values := range h {
		if strings.EqualFold(name, "ETag") {
			return strings.Join(values, ",")
		}
	}
	return ""
}
