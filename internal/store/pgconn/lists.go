package pgconn

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// ListQuery is a query of a list with its conditions. What a filter leaves out is no part of the
// query, so Postgres plans each combination for itself.
type ListQuery struct {
	text strings.Builder
	args []any
	// word comes before the next condition.
	word string
}

// NewListQuery begins a query with what it selects, and the arguments of that.
func NewListQuery(selectRows string, args ...any) *ListQuery {
	q := &ListQuery{args: args, word: " where "}
	q.text.WriteString(selectRows)
	return q
}

// And adds a condition. Each ? in it stands for the next of the arguments.
func (q *ListQuery) And(condition string, args ...any) {
	q.text.WriteString(q.word + "(")
	q.word = " and "
	q.Add(condition, args...)
	q.text.WriteString(")")
}

// Add adds text as it is, but for each ?.
func (q *ListQuery) Add(text string, args ...any) {
	for _, arg := range args {
		before, after, _ := strings.Cut(text, "?")
		q.args = append(q.args, arg)
		q.text.WriteString(before + "$" + strconv.Itoa(len(q.args)))
		text = after
	}
	q.text.WriteString(text)
}

// End adds the order and the limit, 0 for none.
func (q *ListQuery) End(order string, limit int) {
	q.text.WriteString(" order by " + order)
	if limit > 0 {
		q.Add(" limit ?", limit)
	}
}

// errStopped ends a Stream whose reader wants no more rows.
var errStopped = errors.New("stopped")

// ListOf is Stream as a sequence: the converted rows, or the error that ends it, whose text the
// operation begins. Each use of the sequence prepares the query and runs it anew.
func ListOf[Row, T any](
	ctx context.Context, db *DB, operation string, convert func(Row) T, prepare func() (*ListQuery, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q, err := prepare()
		if err == nil {
			err = Stream(ctx, db, func(row Row) error {
				if !yield(convert(row), nil) {
					return errStopped
				}
				return nil
			}, q.text.String(), q.args...)
		}
		if err != nil && !errors.Is(err, errStopped) {
			var none T
			yield(none, fmt.Errorf("%s: %w", operation, err))
		}
	}
}

// Like returns the pattern of texts that contain the word.
func Like(word string) string { return "%" + LikePrefix(word) }

// LikePrefix returns the pattern of texts that begin with the word.
func LikePrefix(word string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(word) + "%"
}
