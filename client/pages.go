package client

import (
	"errors"
	"iter"
	"net/url"
	"strconv"
)

// maxPageSize is the largest page. Iterators use it, because each page counts as one request.
const maxPageSize = 100

// listQuery leaves out zero values.
func listQuery(limit int, status, cursor string) url.Values {
	q := url.Values{}
	if limit != 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	if status != "" {
		q.Set("status", status)
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return q
}

// paginate yields the items of a page and of all following pages. After an error it stops.
func paginate[T any](cursor string, list func(cursor string) (items []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for at := cursor; ; {
			items, next, err := list(at)
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			if next == at {
				yield(none, errors.New("petstore: the response links to the same page as its next page"))
				return
			}
			at = next
		}
	}
}
