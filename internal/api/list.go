package api

import (
	"bytes"
	"net/http"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/pagecache"
)

// newListPage makes the response for the rows of a page. address is the absolute address of the list. If more rows follow, the next
// page begins after the ID of the last row.
func newListPage[T any](q *listQuery, address string, rows []T, more bool, id func(*T) int64) (*pagecache.Page, error) {
	next := ""
	if more && len(rows) > 0 {
		next = httpfield.FormatCursor(id(&rows[len(rows)-1]))
	}
	if rows == nil {
		rows = []T{}
	}
	body, err := jsonbody.Encode(rows)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	var space [512]byte
	return &pagecache.Page{
		Tag: listTag(body, next), Links: string(q.appendLinks(space[:0], address, next)), Next: next, Body: bytes.Clone(body.Bytes()),
	}, nil
}

// listTag returns the ETag of a page, made of its body and the next cursor: if a row is added after a full last page, the body stays the
// same, but Link changes.
func listTag(body *jsonbody.Buffer, next string) string {
	length := body.Len()
	_ = body.WriteByte(0)
	_, _ = body.WriteString(next)
	defer body.Truncate(length)
	return httpfield.ETag(body.Bytes())
}

// writePage responds with a page of a list, or 304 if the client has it.
func (x *exchange) writePage(p *pagecache.Page) {
	x.set("ETag", p.Tag)
	x.set("Link", p.Links)
	if p.Next != "" {
		x.set("X-Next-Cursor", p.Next)
	}
	if httpfield.NoneMatch(x.Request.Header["If-None-Match"], p.Tag) {
		x.write(http.StatusNotModified, nil)
		return
	}
	x.write(http.StatusOK, p.Body)
}
