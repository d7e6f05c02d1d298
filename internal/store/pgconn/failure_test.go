package pgconn

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"
)

// TestObserved: what the database did not fail is observed as a call that worked, such as a
// conflict for which a transaction is given up. A call that was canceled did not work.
func TestObserved(t *testing.T) {
	t.Parallel()
	conflict := errors.New("the order is not open")
	for err, failed := range map[error]bool{conflict: false, sql.ErrNoRows: false, sql.ErrConnDone: true,
		context.Canceled: true, nil: false} {
		var observed error
		d := &DB{
			opener:  newOpener(nil),
			timeout: time.Second,
			observe: func(_ time.Duration, err error) { observed = err },
		}
		got := d.run(t.Context(), writes, "transaction", func(context.Context) error { return err })
		if !errors.Is(got, err) || (observed != nil) != failed {
			t.Errorf("%v: returned %v, observed %v", err, got, observed)
		}
	}
}
