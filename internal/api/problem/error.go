package problem

import "strconv"

// Error is an error response. The message is for the customer. The cause is for the operator, and
// is only logged.
type Error struct {
	Code    *Code
	Message string
	Cause   error
	// Reason is for support: see usage.FailedRequest.
	Reason string
	// Challenge is the WWW-Authenticate of a 401, "" for the code's.
	Challenge string
	// Body is the response if that was made in advance, otherwise nil.
	Body []byte
	// RetrySeconds is the value of Retry-After, 0 for no such header.
	RetrySeconds int64
}

// Err returns an error with the code's own message.
func (c *Code) Err() *Error { return c.WithMessage(c.Message) }

// WithMessage returns an error whose message names the field and what is wrong with it.
func (c *Code) WithMessage(message string) *Error { return &Error{Code: c, Message: message} }

// WithCause returns an error with the code's own message, and a cause that only the log shows.
func (c *Code) WithCause(cause error) *Error {
	return &Error{Code: c, Message: c.Message, Cause: cause}
}

// RetryIn returns an error whose message is b followed by the wait, which is in seconds.
func (c *Code) RetryIn(b []byte, wait int64) *Error {
	b = append(AppendCount(append(b, " Retry in "...), wait, "second"), '.')
	return c.WithMessage(string(b)).RetryAfter(wait)
}

// RetryAfter sets Retry-After.
func (e *Error) RetryAfter(seconds int64) *Error {
	e.RetrySeconds = seconds
	return e
}

// Error returns the code and the cause, for the operator.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Code.Name + ": " + e.Cause.Error()
	}
	return e.Code.Name
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// AppendCount appends "1 request" or "2 requests".
func AppendCount(b []byte, n int64, what string) []byte {
	b = append(append(strconv.AppendInt(b, n, 10), ' '), what...)
	if n != 1 {
		b = append(b, 's')
	}
	return b
}
