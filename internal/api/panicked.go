package api

import "fmt"

// panicked is the error, for the operator, of a handler that panicked. Its stack holds functions
// and lines, but no headers and no query.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }
