package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

// storedPerAddress is how many requests of an address without a valid key are stored of a minute at
// most. So one address does not use up what all of them share, and its flood costs a comparison.
const storedPerAddress = 20

// keepFailed records a request that failed, for support. What it records holds nothing that the
// client chose freely, except a request ID that isRequestID accepted.
func (a *api) keepFailed(x *exchange, status int, elapsed time.Duration) {
	if x.failed == nil || a.FailedRequests == nil {
		return
	}
	c, overLimit := x.owner(), x.failed.code.status == http.StatusTooManyRequests
	if c == nil && !overLimit && x.limits.limit-x.limits.remaining > storedPerAddress {
		return
	}
	if status < http.StatusBadRequest {
		// The handler failed after it sent another status.
		status = x.failed.code.status
	}
	f := usage.FailedRequest{
		At: x.now, Took: elapsed, RequestID: x.id, Status: status, Code: x.failed.code.name, Reason: x.failureReason(),
		Method: methodName(x.Request.Method),
	}
	if x.route.path != unmatched {
		f.Route = x.route.path
	}
	if c != nil {
		f.TenantID, f.KeyID, f.Plan = c.Tenant.ID, c.KeyID, c.Tenant.Plan
	}
	if overLimit {
		w := x.refusedBy()
		f.Window, f.Limit, f.Reset = string(w.name), w.quota, x.limits.reset
		if x.caller != nil && x.failed.code != codeKeyBanned {
			f.Reset, f.Partial = w.reset, x.decision.Partial
		}
	}
	a.FailedRequests.Add(f)
}

// refusedBy returns the window that refused the request with 429, one without a name if a ban did,
// or the bound of what is free.
func (x *exchange) refusedBy() windowStatus {
	switch {
	case x.failed.code == codeKeyBanned:
		return windowStatus{}
	case x.failed.reason == usage.Uncounted:
		return windowStatus{reset: x.limits.reset}
	case x.caller == nil:
		return x.limits.windows[0]
	}
	w := x.decision.Binding()
	return windowStatus{w.Name, w.Limit, w.Remaining, w.Reset}
}

// failureReason says what the code does not.
func (x *exchange) failureReason() string {
	err := x.failed
	switch {
	case x.gaveUp():
		return usage.ClientGone
	case err.code != codeUnavailable && err.code != codeOutcomeUnknown:
		return err.reason
	case errors.Is(err, errUndecided):
		return usage.LimitsUndecided
	case errors.Is(err, errUnrecorded):
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
