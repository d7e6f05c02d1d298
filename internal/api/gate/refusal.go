package gate

import (
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// shareUsedUp is added to a refusal while the servers can't share their counters. The tenant may
// have kept to its plan, so the refusal is not a strike.
const shareUsedUp = " Rate limiting is temporarily degraded: this server's share of your limit is used up."

// marginUsedUp is shareUsedUp for a month, whose refusal may stand for weeks.
const marginUsedUp = " What a server that failed this month may have served counts as used."

// overWindow returns the refusal by one of the caller's windows. It names the numbers in force,
// because a boost's numbers differ from the plan's, and says so if the refusal is partial.
func (g *Gate) overWindow(c *keys.Caller, w limits.Window, partial bool, wait int64) *problem.Error {
	if w.Name == limits.Month {
		return overMonth(c.Tenant, w, partial, wait, g.Support)
	}
	return overLimit(c, w, partial, wait)
}

// overLimit returns the refusal by a minute or the day.
func overLimit(c *keys.Caller, w limits.Window, partial bool, wait int64) *problem.Error {
	var space [256]byte
	b := space[:0]
	code := problem.RateLimitExceeded
	of := "Plan "
	if minute, day, _ := c.Tenant.Boosted(); minute && w.Name == limits.Minute || day && w.Name == limits.Day {
		of = "The boost of plan "
	}
	switch w.Name {
	case limits.Key:
		b = append(b, "This API key's own limit allows "...)
	case limits.Day:
		code = problem.DailyQuotaExceeded
		fallthrough
	default:
		b = append(append(append(b, of...), c.Tenant.Plan...), " allows "...)
	}
	b = append(problem.AppendCount(b, w.Limit, "request"), " per "...)
	if w.Name == limits.Day {
		b = append(b, "day."...)
	} else {
		b = append(b, "minute."...)
	}
	if partial {
		b = append(b, shareUsedUp...)
	}
	return code.RetryIn(b, wait)
}

// overMonth returns the refusal by the month: the included requests and those above them, when it
// ends, and whom to ask for more. Its window may be a simulated one.
func overMonth(t *plans.Tenant, w limits.Window, partial bool, wait int64, s problem.Support) *problem.Error {
	of, included := "Plan ", min(t.Quota.Month.Included, w.Limit)
	if _, _, month := t.Boosted(); month {
		of = "The boost of plan "
	}
	if t.Quota.Month.Kind != plans.SomeMonth {
		included = w.Limit
	}
	b := append(append(append(make([]byte, 0, 384), of...), t.Plan...), " includes "...)
	b = append(problem.AppendCount(b, included, "request"), " per month and allows "...)
	b = append(strconv.AppendInt(b, w.Limit-included, 10), " more. The month ends at "...)
	b = time.Unix(w.Reset, 0).UTC().AppendFormat(b, time.RFC3339)
	b = append(
		append(append(b, ". Ask "...), s.String()...),
		" for a larger plan or more overage, which is in force at once."...)
	if partial {
		b = append(b, marginUsedUp...)
	}
	return problem.MonthlyQuotaExceeded.RetryIn(b, wait)
}

// banned returns the refusal of a banned key. until is the Unix time at which the ban ends. The
// message ends with about.
func banned(ban *keys.Ban, until, wait int64, about string) *problem.Error {
	var space [256]byte
	b := append(space[:0], "This API key is banned until "...)
	b = time.Unix(until, 0).UTC().AppendFormat(b, time.RFC3339)
	b = append(append(b, ": "...), strings.TrimRight(ban.Reason, ".")...)
	e := problem.KeyBanned.RetryIn(append(b, '.'), wait)
	e.Message += about
	return e
}

// addressOverLimit returns the refusal of an address that sends no valid key.
func addressOverLimit(limit, wait int64) *problem.Error {
	var space [256]byte
	b := append(space[:0], "Without a valid API key an address may send "...)
	return problem.RateLimitExceeded.RetryIn(append(problem.AppendCount(b, limit, "request"), " per minute."...), wait)
}
