package api

import (
	"net/http"
	"slices"
	"strconv"
)

// listPage is a finished answer: one page of a list, all of it but what differs from request to request.
type listPage struct {
	body []byte
	// tag is its ETag; lines are the header lines ETag, Link and X-Next-Cursor.
	tag   string
	lines []byte
	// length is the body's, as the header Content-Length has it.
	length []string
}

// finish makes the answer of a page's rows. The list's address is absolute; next is the cursor of the page that follows, empty for
// none.
func finish[T any](q *listQuery, address string, rows []T, next string) (*listPage, error) {
	if rows == nil {
		rows = []T{}
	}
	e, err := encode(rows)
	if err != nil {
		return nil, err
	}
	defer e.release()
	p := &listPage{tag: e.tag(next), length: []string{strconv.Itoa(e.Len())}}
	var space [512]byte
	b := append(append(append(space[:0], "ETag: "...), p.tag...), "\r\nLink: "...)
	b = append(q.appendLinks(b, address, next), "\r\n"...)
	if next != "" {
		b = append(append(append(b, "X-Next-Cursor: "...), next...), "\r\n"...)
	}
	all := slices.Concat(b, e.Bytes())
	p.lines, p.body = all[:len(b):len(b)], all[len(b):]
	return p, nil
}

// answerPage answers with one page of a list, or that it is the one that the client has.
func (x *exchange) answerPage(p *listPage) {
	had := noneMatch(x.Request.Header["If-None-Match"], p.tag)
	x.lines = p.lines
	if had {
		x.write(http.StatusNotModified, nil)
		return
	}
	x.send(http.StatusOK, p.body, p.length)
}
