package api

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
)

// panicked is the operator's error of a handler that panicked. The stack holds functions and lines; it is taken
// where the panic is, and knows neither headers nor query.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// recovered answers 500 for a handler that panicked. It reports whether the connection has to be cut: because the
// answer had begun, or because the handler asked for it with http.ErrAbortHandler.
func (a *api) recovered(x *exchange, v any) (cut bool) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	err := codeInternalError.withCause(&panicked{value: v, stack: debug.Stack()})
	if x.Writer.Written() {
		a.refund(x)
		x.failed = err
		return true
	}
	a.fail(x, err)
	return false
}
