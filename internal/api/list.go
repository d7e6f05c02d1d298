package api

import "net/http"

// answerList answers with one page of a list, or that it is the one that the client has. The list's address is absolute;
// next is the cursor of the page that follows, empty for none.
func answerList[T any](x *exchange, q *listQuery, address string, rows []T, next string) error {
	if rows == nil {
		rows = []T{}
	}
	e, err := encode(rows)
	if err != nil {
		return err
	}
	defer e.release()
	if next != "" {
		x.set("X-Next-Cursor", next)
	}
	x.set("Link", q.links(address, next))
	tag := e.tag(next)
	x.set("ETag", tag)
	if noneMatch(x.Request.Header["If-None-Match"], tag) {
		x.write(http.StatusNotModified, nil)
		return nil
	}
	x.write(http.StatusOK, e.Bytes())
	return nil
}
