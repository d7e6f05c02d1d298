package client

import (
	"errors"
	"fmt"
	"iter"
	"net/url"
	"reflect"
	"time"
)

// maxPageSize is the largest page. Iterators use it, because each page counts as one request.
const maxPageSize = 100

// listQuery makes a query from numbers, texts and times, or pointers to them. It leaves out zero
// values.
func listQuery(parameters map[string]any) url.Values {
	q := url.Values{}
	for name, p := range parameters {
		if at, ok := p.(time.Time); ok {
			if p = ""; !at.IsZero() {
				p = at.UTC().Format(time.RFC3339Nano)
			}
		}
		if v := reflect.ValueOf(p); !v.IsZero() {
			q.Set(name, fmt.Sprint(reflect.Indirect(v)))
		}
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
