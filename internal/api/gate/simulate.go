package gate

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/api/shares"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// SimulateHeader asks for an error response by its code, for a delay, or for both:
// daily_quota_exceeded;delay=2s. Customers use it to test that their programs wait and try again.
// It works only with test keys, so that no request of production fails because of it.
const SimulateHeader = "X-Petstore-Simulate"

// MaxDelay is the longest simulated delay.
const MaxDelay = 30 * time.Second

// simulation is what a request asks for: nil and 0 for nothing.
type simulation struct {
	code  *problem.Code
	delay time.Duration
}

// simulate reads X-Petstore-Simulate, and waits for its delay, unless a ban or a limit refuses the
// request. It returns a 400 if the request may not simulate, or if the simulation is unknown. A
// refusal by a ban or a limit takes precedence over that. If the header names a code, simulate sets
// o.Simulated to it.
func (g *Gate) simulate(ctx context.Context, r *Request, o *Outcome) (invalid *problem.Error) {
	values := r.Header[SimulateHeader]
	if values == nil || o.Caller.Banned(r.Now) != nil {
		return nil
	}
	if o.Caller.Environment != keys.Test {
		return problem.InvalidParameter.WithMessage(
			SimulateHeader + " works with test keys only: those that begin with pst_test_.",
		)
	}
	s, wrong := parseSimulation(values)
	if wrong != "" {
		return problem.InvalidParameter.WithMessage(wrong)
	}
	o.Simulated = s.code
	if s.delay == 0 || g.refusesNow(ctx, r, o) {
		return nil
	}
	tenant := shares.Holder{TenantID: o.Caller.Tenant.ID}
	if !g.delays.Reserve(tenant, 1) {
		o.Simulated, o.delaysFull = problem.Unavailable, true
		return nil
	}
	// Until the body is read, net/http does not notice a disconnect, and the delay goes on.
	select {
	case <-time.After(s.delay):
	case <-ctx.Done():
	case <-g.Stopping:
	}
	g.delays.Release(tenant, 1)
	// After the delay, the request is decided as if it came now.
	g.SetNow(r)
	o.Caller = nil
	if g.identify(ctx, r, o); o.Caller == nil {
		o.Simulated = nil
	}
	return nil
}

// refusesNow reports whether admit will refuse the request, or can't decide. A delayed request
// would then hold a connection without being counted.
func (g *Gate) refusesNow(ctx context.Context, r *Request, o *Outcome) bool {
	if r.Route.Unmetered {
		return false
	}
	d := g.Limiter.Peek(ctx, Claim(o.Caller), r.Now)
	return !d.Admitted || d.Undecided
}

// delay matches the value of delay=: whole or decimal seconds, or milliseconds.
var delay = regexp.MustCompile(`^[0-9]{1,5}(\.[0-9]{1,3})?(s|ms)$`)

// parseSimulation reads a code, a delay, or both, separated by a semicolon. For anything else,
// wrong says what is wrong.
func parseSimulation(values []string) (s simulation, wrong string) {
	if len(values) != 1 {
		return s, simulationHelp
	}
	for part := range strings.SplitSeq(values[0], ";") {
		part = strings.Trim(part, " \t")
		if text, isDelay := strings.CutPrefix(part, "delay="); isDelay {
			d, err := time.ParseDuration(text)
			if err != nil || !delay.MatchString(text) || d <= 0 || d > MaxDelay || s.delay != 0 {
				return s, delayHelp
			}
			s.delay = d
			continue
		}
		i := slices.IndexFunc(problem.Codes, func(c *problem.Code) bool { return c.Name == part })
		if i < 0 || s.code != nil {
			return s, simulationHelp
		}
		s.code = problem.Codes[i]
	}
	return s, ""
}

// delayHelp says how a delay is written.
var delayHelp = fmt.Sprintf(
	"The delay of %s must be at most %.0f seconds, as in delay=2s or delay=500ms.",
	SimulateHeader,
	MaxDelay.Seconds(),
)

// simulationHelp says how X-Petstore-Simulate is written.
var simulationHelp = func() string {
	names := make([]string, len(problem.Codes))
	for i, c := range problem.Codes {
		names[i] = c.Name
	}
	return SimulateHeader + " must be an error code, delay= and at most 30s, or both, as in " +
		"rate_limit_exceeded;delay=2s. The codes are " +
		strings.Join(
			names,
			", ",
		) + "."
}()

// admitSimulated decides as for a real request, but does not count this one. If a limit is used up,
// the refusal counts as always.
func (g *Gate) admitSimulated(ctx context.Context, r *Request, o *Outcome) error {
	o.Decision = g.Limiter.Peek(ctx, Claim(o.Caller), r.Now)
	if !o.Decision.Admitted && !o.Decision.Undecided && !r.Route.Unmetered {
		o.Simulated = nil
		return g.refuseOverLimit(ctx, r, o)
	}
	g.Meter.Used(o.bucket, r.Now)
	return g.simulatedError(ctx, r, o)
}

// simulatedError returns the error with the code, as a real request gets it.
func (g *Gate) simulatedError(ctx context.Context, r *Request, o *Outcome) error {
	switch o.Simulated {
	case problem.MissingAPIKey, problem.InvalidAPIKey, problem.URITooLong:
		// The response shows the limits of the address.
		o.ShowAddress(g.Addresses.Peek(r.Sender.Address(), r.Now))
		switch o.Simulated {
		case problem.MissingAPIKey:
			return g.refusals.missingKey
		case problem.InvalidAPIKey:
			return g.refusals.unknownKey
		}
	case problem.IdempotencyInProgress, problem.OutcomeUnknown:
		return o.Simulated.Err().RetryAfter(1)
	case problem.Unavailable:
		if o.delaysFull {
			return problem.Unavailable.WithMessage(
				"Too many requests wait for a simulated delay. Retry in 1 second.",
			).RetryAfter(
				1,
			)
		}
		return problem.Unavailable.Err().RetryAfter(1)
	case problem.RateLimitExceeded, problem.DailyQuotaExceeded, problem.MonthlyQuotaExceeded, problem.KeyBanned:
		return g.simulatedRefusal(ctx, r, o)
	}
	return o.Simulated.Err()
}

// simulateMonth uses up the month. Without a limit per month it is as if the plan had the included
// requests as a limit, or else as many as per day.
func (o *Outcome) simulateMonth(now time.Time) {
	w, q := &o.Decision.Month, o.Caller.Tenant.Quota
	if w.Limit == 0 {
		w.Name, w.Number, w.Limit = limits.Month, limits.MonthAt(now), q.PerDay
		if q.Month.Kind == plans.SomeMonth {
			w.Limit = max(1, q.Month.Included)
		}
		w.Reset = limits.MonthReset(w.Number)
	}
	if q.Month.Kind == plans.SomeMonth {
		o.Decision.Overage = max(0, w.Limit-q.Month.Included)
	}
}

// simulatedRefusal returns a 429, as if a window were used up or the key were banned now.
func (g *Gate) simulatedRefusal(ctx context.Context, r *Request, o *Outcome) error {
	if o.Decision.Undecided && o.Simulated != problem.KeyBanned {
		// It is not known how many requests remain in the windows.
		o.Simulated = nil
		return problem.Unavailable.WithCause(ErrUndecided).RetryAfter(1)
	}
	if o.Simulated == problem.KeyBanned {
		length, err := g.Strikes.NextBan(ctx, o.Caller.KeyID, r.Now)
		if err != nil {
			return err
		}
		_, ends := keys.BanTimes(r.Now, length)
		o.banEnds = ends.Unix()
		return banned(
			&keys.Ban{Reason: keys.AutomaticReason},
			ends.Unix(),
			limits.RetryAfter(ends.Unix(), r.Now),
			g.refusals.aboutBan,
		)
	}
	w, d := &o.Decision.Minute, &o.Decision
	switch o.Simulated {
	case problem.DailyQuotaExceeded:
		w = &d.Day
	case problem.MonthlyQuotaExceeded:
		w = &d.Month
		o.simulateMonth(r.Now)
	}
	for _, each := range []*limits.Window{&d.Minute, &d.Day, &d.Month, &d.Key} {
		each.Reached = each == w
	}
	d.Admitted, w.Remaining = false, 0
	return g.overWindow(o.Caller, *w, false, limits.RetryAfter(w.Reset, r.Now))
}
