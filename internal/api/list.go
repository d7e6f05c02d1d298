package api

import "net/http"

// answerList answers with one page of a list, whose address is absolute. next is the cursor of the page that follows, empty for none.
func answerList[T any](x *exchange, q *listQuery, address string, rows []T, next string) error {
	if rows == nil {
		rows = []T{}
	}
	if next != "" {
		x.set("X-Next-Cursor", next)
	}
	x.set("Link", q.links(address, next))
	return x.json(http.StatusOK, rows)
}
