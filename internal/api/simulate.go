package api

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
)

// simulateHeader asks for the response with an error code, for a delay, or for both:
// daily_quota_exceeded;delay=2s. Customers prove with it that their programs wait and try again. It
// works with test keys only, so that no request of production fails for it.
const simulateHeader = "X-Petstore-Simulate"

// maxDelay is the longest simulated delay. maxDelays is how many requests may wait for theirs at
// the same time, and maxDelaysPerTenant how many of one tenant: each holds a connection.
const (
	maxDelay           = 30 * time.Second
	maxDelays          = 256
	maxDelaysPerTenant = 16
)

// simulation is what a request asks for: nil and 0 for nothing.
type simulation struct {
	code  *errorCode
	delay time.Duration
}

// simulate reads X-Petstore-Simulate, and waits for its delay, unless a ban or a limit refuses the
// request. It returns the 400 of a request that may not simulate, or that asks for what there is
// not; a ban or a limit comes before it. If x.simulated is then set, that is the code of the
// response.
func (a *api) simulate(x *exchange) (invalid *Error) {
	values := x.Request.Header[simulateHeader]
	if values == nil || x.caller.Banned(x.now) != nil {
		return nil
	}
	if x.caller.Environment != keys.Test {
		return codeInvalidParameter.withMessage(
			simulateHeader + " works with test keys only: those that begin with pst_test_.",
		)
	}
	s, wrong := parseSimulation(values)
	if wrong != "" {
		return codeInvalidParameter.withMessage(wrong)
	}
	x.simulated = s.code
	if s.delay == 0 || a.refusesNow(x) {
		return nil
	}
	tenant := holder{tenantID: x.caller.Tenant.ID}
	if !a.delays.reserve(tenant, 1) {
		x.simulated, x.delaysFull = codeUnavailable, true
		return nil
	}
	// Of a request with a body net/http learns only after the body is read that the client has
	// disconnected, so its delay then goes on.
	select {
	case <-time.After(s.delay):
	case <-x.Request.Context().Done():
	case <-a.Stopping:
	}
	a.delays.release(tenant, 1)
	// It is decided by what holds now.
	x.started = time.Now()
	x.now = x.started
	if a.Instant != nil {
		x.now = a.Instant(x.started)
	}
	x.caller = nil
	if a.identify(x); x.caller == nil {
		x.simulated = nil
	}
	return nil
}

// refusesNow reports whether admit will refuse the request, or can't decide. A delay would only
// hold a connection, which nothing counts.
func (a *api) refusesNow(x *exchange) bool {
	if x.route.unmetered {
		return false
	}
	d := a.Limiter.Peek(x.Request.Context(), claim(x.caller), x.now)
	return !d.Admitted || d.Undecided
}

// delay is what follows delay=: whole or decimal seconds, or milliseconds.
var delay = regexp.MustCompile(`^[0-9]{1,5}(\.[0-9]{1,3})?(s|ms)$`)

// parseSimulation reads a code, a delay, or both, separated by a semicolon. wrong is the message
// about anything else.
func parseSimulation(values []string) (s simulation, wrong string) {
	if len(values) != 1 {
		return s, simulationHelp
	}
	for part := range strings.SplitSeq(values[0], ";") {
		part = strings.Trim(part, " \t")
		if text, isDelay := strings.CutPrefix(part, "delay="); isDelay {
			d, err := time.ParseDuration(text)
			if err != nil || !delay.MatchString(text) || d <= 0 || d > maxDelay || s.delay != 0 {
				return s, delayHelp
			}
			s.delay = d
			continue
		}
		i := slices.IndexFunc(codes, func(c *errorCode) bool { return c.name == part })
		if i < 0 || s.code != nil {
			return s, simulationHelp
		}
		s.code = codes[i]
	}
	return s, ""
}

// delayHelp says what a delay may be.
var delayHelp = fmt.Sprintf(
	"The delay of %s must be at most %.0f seconds, as in delay=2s or delay=500ms.",
	simulateHeader,
	maxDelay.Seconds(),
)

// simulationHelp says what X-Petstore-Simulate may be.
var simulationHelp = func() string {
	names := make([]string, len(codes))
	for i, c := range codes {
		names[i] = c.name
	}
	return simulateHeader + " must be an error code, delay= and at most 30s, or both, as in " +
		"rate_limit_exceeded;delay=2s. The codes are " +
		strings.Join(
			names,
			", ",
		) + "."
}()

// admitSimulated decides as for a real request, but counts nothing. A ban, or a limit that is used
// up, refuses it, which counts as always.
func (a *api) admitSimulated(x *exchange) error {
	if ban := x.caller.Banned(x.now); ban != nil {
		x.simulated = nil
		return a.refuseBanned(x, ban)
	}
	x.decision = a.Limiter.Peek(x.Request.Context(), claim(x.caller), x.now)
	x.limits = tenantLimits(&x.decision)
	if !x.decision.Admitted && !x.decision.Undecided && !x.route.unmetered {
		x.simulated = nil
		return a.refuseOverLimit(x)
	}
	a.Meter.Used(bucket(x.caller), x.now)
	return a.simulatedError(x)
}

// simulatedError returns the error with the code, as a real request gets it.
func (a *api) simulatedError(x *exchange) error {
	switch x.simulated {
	case codeMissingAPIKey, codeInvalidAPIKey, codeURITooLong:
		// These show the limits of the address.
		x.limits = addressLimits(a.Addresses.Peek(a.address(x), x.now))
		switch x.simulated {
		case codeMissingAPIKey:
			return a.refusals.missingKey
		case codeInvalidAPIKey:
			return a.refusals.unknownKey
		}
	case codeRouteNotFound:
		return routeNotFound(a, x)
	case codeMethodNotAllowed:
		x.set("Allow", strings.Join(methodsOf(x.route.path), ", "))
		return methodNotAllowed(a, x)
	case codeIdempotencyInProgress, codeOutcomeUnknown:
		return x.simulated.err().retryAfter(1)
	case codeEndpointRemoved:
		return a.simulatedRemoval(x)
	case codeBodyTooLarge:
		return x.tooLarge(jsonbody.MaxBytes)
	case codeUnsupportedMediaType:
		x.set("Accept", "application/json")
	case codeUnavailable:
		if x.delaysFull {
			return codeUnavailable.withMessage(
				"Too many requests wait for a simulated delay. Retry in 1 second.",
			).retryAfter(
				1,
			)
		}
		return codeUnavailable.err().retryAfter(1)
	case codeRateLimitExceeded, codeDailyQuotaExceeded, codeKeyBanned:
		return a.simulatedRefusal(x)
	}
	return x.simulated.err()
}

// simulatedRemoval returns the 410 of the operation if its removal was announced, or else the one
// that there will be: of GET /v1/pets/{petId}.
func (a *api) simulatedRemoval(x *exchange) error {
	if x.route.deprecated == nil {
		removed := *x.route
		removed.deprecated = getPetRemoval
		a.announce(&removed)
		x.route = &removed
		x.setRouteHeaders()
	}
	return x.route.deprecated.gone()
}

// simulatedRefusal returns a 429, as if a window were used up or the key were banned now.
func (a *api) simulatedRefusal(x *exchange) error {
	if x.decision.Undecided && x.simulated != codeKeyBanned {
		// Nobody knows what remains in the windows.
		x.simulated = nil
		return codeUnavailable.withCause(errUndecided).retryAfter(1)
	}
	if x.simulated == codeKeyBanned {
		length, err := a.Strikes.NextBan(x.Request.Context(), x.caller.KeyID, x.now)
		if err != nil {
			return err
		}
		_, ends := keys.BanTimes(x.now, length)
		x.limits = bannedLimits(x.caller, ends.Unix())
		return banned(
			&keys.Ban{Reason: keys.AutomaticReason},
			ends.Unix(),
			limits.RetryAfter(ends.Unix(), x.now),
			a.refusals.aboutBan,
		)
	}
	w := &x.decision.Minute
	if x.simulated == codeDailyQuotaExceeded {
		w = &x.decision.Day
	}
	for _, each := range []*limits.Window{&x.decision.Minute, &x.decision.Day, &x.decision.Key} {
		each.Reached = each == w
	}
	x.decision.Admitted, w.Remaining = false, 0
	x.limits = tenantLimits(&x.decision)
	return overLimit(x.caller, *w, "", limits.RetryAfter(w.Reset, x.now))
}

// methodsOf returns the methods of a path, in alphabetical order. Any path has OPTIONS.
func methodsOf(path string) []string {
	methods := []string{http.MethodOptions}
	for _, r := range table() {
		if r.path == path && r.method != http.MethodOptions {
			methods = append(methods, r.method)
		}
	}
	slices.Sort(methods)
	return methods
}
