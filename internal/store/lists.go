package store

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"petstore.example/internal/store/pgconn"
)

// listQuery is a query of a list with its conditions. What a filter leaves out is no part of the query, so Postgres plans each
// combination for itself.
type listQuery struct {
	text strings.Builder
	args []any
	// word comes before the next condition.
	word string
}

// newListQuery begins a query with what it selects, and the arguments of that.
func newListQuery(selectRows string, args ...any) *listQuery {
	q := &listQuery{args: args, word: " where "}
	q.text.WriteString(selectRows)
	return q
}

// and adds a condition. Each ? in it stands for the next of the arguments.
func (q *listQuery) and(condition string, args ...any) {
	q.text.WriteString(q.word + "(")
	q.word = " and "
	q.add(condition, args...)
	q.text.WriteString(")")
}

// add adds text as it is, but for each ?.
func (q *listQuery) add(text string, args ...any) {
	for _, arg := range args {
		before, after, _ := strings.Cut(text, "?")
		q.args = append(q.args, arg)
		q.text.WriteString(before + "$" + strconv.Itoa(len(q.args)))
		text = after
	}
	q.text.WriteString(text)
}

// end adds the order and the limit, 0 for none.
func (q *listQuery) end(order string, limit int) {
	q.text.WriteString(" order by " + order)
	if limit > 0 {
		q.add(" limit ?", limit)
	}
}

// list runs a query after prepare has completed it. The operation begins the texts of errors.
func list[Row, T any](
	ctx context.Context, db *pgconn.DB, operation string, convert func(Row) T, prepare func() (*listQuery, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		q, err := prepare()
		if err != nil {
			yield(none, fmt.Errorf("%s: %w", operation, err))
			return
		}
		for item, err := range pgconn.List(ctx, db, convert, q.text.String(), q.args...) {
			if err != nil {
				err = fmt.Errorf("%s: %w", operation, err)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// like returns the pattern of texts that contain the word.
func like(word string) string { return "%" + likePrefix(word) }

// likePrefix returns the pattern of texts that begin with the word.
func likePrefix(word string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(word) + "%"
}
