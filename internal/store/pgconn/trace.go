package pgconn

import (
	"context"
	"errors"
)

// tracer is Options.Trace, nil for none.
type tracer func(ctx context.Context, statement string) (context.Context, func(error))

// call makes a call as part of the trace that its context belongs to, if any.
func (t tracer) call(ctx context.Context, statement string, do func(context.Context) error) error {
	if t == nil {
		return do(ctx)
	}
	ctx, end := t(ctx, statement)
	err := do(ctx)
	if end != nil {
		end(failure(err))
	}
	return err
}

// failure returns the error of a call that failed or was canceled. It is nil for a call that
// worked: it found nothing, or its caller gave the transaction up.
func failure(err error) error {
	if errors.Is(err, ErrUnavailable) || errors.Is(err, context.Canceled) || IsServerError(err) {
		return err
	}
	return nil
}
