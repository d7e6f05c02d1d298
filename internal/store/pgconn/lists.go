package pgconn

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// ListQuery is a query of a list with its conditions. It leaves out what a filter does not ask for,
// so Postgres plans each combination for itself.
type ListQuery struct {
	text strings.Builder
	args []any
	// word comes before the next condition.
	word string
}

// NewListQuery begins a query with the selected columns and their arguments.
func NewListQuery(selectRows string, args ...any) *ListQuery {
	q := &ListQuery{args: args, word: " where "}
	q.text.WriteString(selectRows)
	return q
}

// And adds a condition. Each ? in it stands for the next argument.
func (q *ListQuery) And(condition string, args ...any) {
	q.text.WriteString(q.word + "(")
	q.word = " and "
	q.Add(condition, args...)
	q.text.WriteString(")")
}

// Add adds text unchanged, except that each ? stands for the next argument.
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

// ListOf is Stream as a sequence of converted rows. The error that ends it is prefixed with the
// operation. Each use of the sequence prepares and runs the query again.
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
