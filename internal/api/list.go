package api

import (
	"bytes"
	"net/http"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/pagecache"
)

// nextCursor is the cursor of the page that begins after an ID, "" for 0.
func nextCursor(after int64) string {
	if after == 0 {
		return ""
	}
	return httpfield.FormatCursor(after)
}

// newListPage makes the response for the rows of a page. address is the absolute URL of the list.
// next is the cursor of the next page, "" for none.
func newListPage[T any](q *listQuery, address string, rows []T, next string) (*pagecache.Page, error) {
	if rows == nil {
		rows = []T{}
	}
	body, err := jsonbody.Encode(rows)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	var space [512]byte
	page := &pagecache.Page{
		Links:   string(q.appendLinks(space[:0], address, next)),
		Next:    next,
		Body:    bytes.Clone(body.Bytes()),
		OneItem: len(rows) == 1 && next == "",
	}
	page.Tag = listTag(body, page.OneItem, next)
	return page, nil
}

// listTag returns the ETag of a page, computed from its body and the next cursor: a row that is
// added after a full last page changes Link, but not the body. If a page has one row and no page
// follows, the row's ETag is used, so that If-Match can change the row.
func listTag(body *jsonbody.Buffer, oneItem bool, next string) string {
	if oneItem {
		return itemTag(body.Bytes()[1 : body.Len()-len("]\n")])
	}
	length := body.Len()
	_ = body.WriteByte(0)
	_, _ = body.WriteString(next)
	defer body.Truncate(length)
	return httpfield.ETag(body.Bytes())
}

// pageForm is the form in which a client gets a page. The page is compressed if the client accepts
// that, unless it is short or has one item. It has no body if the client already has the page.
type pageForm struct{ gzip, unchanged bool }

func (x *exchange) pageForm(p *pagecache.Page) pageForm {
	h := x.Request.Header
	// By weak comparison, the tag of the other form matches too.
	return pageForm{
		gzip:      p.Compressible() && httpfield.AcceptsGzip(h["Accept-Encoding"]),
		unchanged: httpfield.NoneMatch(h["If-None-Match"], p.Tag),
	}
}

// compresses reports whether the compressed body is sent. A 304 has only its tag.
func (f pageForm) compresses() bool { return f.gzip && !f.unchanged }

// writePage responds with a page of a list in that form, or with 304.
func (x *exchange) writePage(p *pagecache.Page, f pageForm) {
	if f.compresses() {
		p = p.WithGzip()
	}
	body, tag := p.Body, p.Tag
	if p.Compressible() {
		x.headers.Header["Vary"] = varyAcceptEncoding
	}
	switch {
	case f.gzip && p.Gzip != nil:
		body, tag = p.Gzip, p.GzipTag
	case f.gzip && f.unchanged:
		tag = httpfield.WeakETag(tag)
	}
	x.set("ETag", tag)
	x.set("Link", p.Links)
	if p.Next != "" {
		x.set("X-Next-Cursor", p.Next)
	}
	if f.unchanged {
		x.write(http.StatusNotModified, nil)
		return
	}
	if f.gzip && p.Gzip != nil {
		x.headers.Header["Content-Encoding"] = gzipEncoding
	}
	x.write(http.StatusOK, body)
}
