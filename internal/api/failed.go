package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

// storedPerAddress is how many requests without a valid key are stored per address and minute. So
// no address can use up the room for all, and in a flood a request costs only a comparison.
const storedPerAddress = 20

// keepFailed records a failed request for support. The record has no text that the client can
// choose freely, except a request ID that isRequestID accepted.
func (a *api) keepFailed(x *exchange, status int, elapsed time.Duration) {
	if x.failed == nil || a.FailedRequests == nil {
		return
	}
	c, overLimit := x.owner(), x.failed.Code.Status == http.StatusTooManyRequests
	if c == nil && !overLimit && x.limits.Limit-x.limits.Remaining > storedPerAddress {
		return
	}
	if status < http.StatusBadRequest {
		// The handler failed after it had sent another status.
		status = x.failed.Code.Status
	}
	f := usage.FailedRequest{
		At:        x.asked.Now,
		Took:      elapsed,
		RequestID: x.id,
		Status:    status,
		Code:      x.failed.Code.Name,
		Reason:    x.failureReason(),
		Method:    methodName(x.Request.Method),
	}
	if x.route.path != unmatched {
		f.Route = x.route.path
	}
	if c != nil {
		f.TenantID, f.KeyID, f.Plan = c.Tenant.ID, c.KeyID, c.Tenant.Plan
	}
	if overLimit {
		w := x.refusedBy()
		f.Window, f.Limit, f.Reset = string(w.Name), w.Quota, x.limits.Reset
		if x.Caller != nil && x.failed.Code != problem.KeyBanned {
			f.Reset, f.Partial = w.Reset, x.Decision.Partial
		}
	}
	a.FailedRequests.Add(f)
}

// refusedBy returns the window, or the limit of uncounted requests, that refused the request with
// 429. Its name is empty if a ban refused the request.
func (x *exchange) refusedBy() gate.Window {
	switch {
	case x.failed.Code == problem.KeyBanned:
		return gate.Window{}
	case x.failed.Reason == usage.Uncounted:
		return gate.Window{Reset: x.limits.Reset}
	case x.Caller == nil:
		return x.limits.Windows[0]
	}
	w := x.Decision.Binding()
	return gate.Window{Name: w.Name, Quota: w.Limit, Remaining: w.Remaining, Reset: w.Reset}
}

// failureReason returns what support needs to know besides the code.
func (x *exchange) failureReason() string {
	err := x.failed
	switch {
	case x.gaveUp():
		return usage.ClientGone
	case err.Code != problem.Unavailable && err.Code != problem.OutcomeUnknown:
		return err.Reason
	case errors.Is(err, gate.ErrUndecided):
		return usage.LimitsUndecided
	case errors.Is(err, gate.ErrUnrecorded):
		return usage.UsageUnrecorded
	case errors.Is(err, errBodiesFull):
		return usage.BodiesFull
	case errors.Is(err, catalog.ErrUnavailable),
		errors.Is(err, keys.ErrUnavailable),
		errors.Is(err, usage.ErrUnavailable):
		return usage.DatabaseDown
	case errors.Is(err, context.DeadlineExceeded):
		return usage.TimedOut
	}
	return ""
}

// errorKind returns the kind under which the metrics count the error response. The reason of a 429
// is the window that refused it.
func (x *exchange) errorKind() errorKind {
	reason := x.failureReason()
	if x.failed.Code.Status == http.StatusTooManyRequests {
		reason = cmp.Or(string(x.refusedBy().Name), reason)
	}
	return errorKind{x.failed.Code, reason, x.plan()}
}

// isTrouble reports whether the request failed on our side. The handler may have failed after it
// sent another status.
func (x *exchange) isTrouble(status int) bool {
	return x.failed != nil && x.Simulated == nil && status != statusGone &&
		x.failed.Code.Status >= http.StatusInternalServerError
}
