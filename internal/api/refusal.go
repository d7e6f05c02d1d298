package api

import (
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
)

// shareUsedUp is what a refusal says while the servers can't share their counters. The tenant may
// have kept to its plan, so it is no strike.
const shareUsedUp = " Rate limiting is temporarily degraded: this server's share of your limit is used up."

// overLimit returns the refusal by a window of the caller's, and names what is in force: a boost is
// not the plan's number. degraded is that sentence, or empty if
// all servers counted together.
func overLimit(c *keys.Caller, w limits.Window, degraded string, wait int64) *Error {
	var space [256]byte
	b := space[:0]
	code := codeRateLimitExceeded
	of := "Plan "
	if minute, day := c.Tenant.Boosted(); minute && w.Name == limits.Minute || day && w.Name == limits.Day {
		of = "The boost of plan "
	}
	switch w.Name {
	case limits.Key:
		b = append(b, "This API key's own limit allows "...)
	case limits.Day:
		code = codeDailyQuotaExceeded
		fallthrough
	default:
		b = append(append(append(b, of...), c.Tenant.Plan...), " allows "...)
	}
	b = append(appendCount(b, w.Limit, "request"), " per "...)
	if w.Name == limits.Day {
		b = append(b, "day."...)
	} else {
		b = append(b, "minute."...)
	}
	return code.retryIn(append(b, degraded...), wait)
}

// banned returns the refusal of a key until the Unix time at which its ban ends. The message ends
// with about.
func banned(ban *keys.Ban, until, wait int64, about string) *Error {
	var space [256]byte
	b := append(space[:0], "This API key is banned until "...)
	b = time.Unix(until, 0).UTC().AppendFormat(b, time.RFC3339)
	b = append(append(b, ": "...), strings.TrimRight(ban.Reason, ".")...)
	e := codeKeyBanned.retryIn(append(b, '.'), wait)
	e.message += about
	return e
}

// addressOverLimit returns the refusal of an address that sends no valid key.
func addressOverLimit(limit, wait int64) *Error {
	var space [256]byte
	b := append(space[:0], "Without a valid API key an address may send "...)
	return codeRateLimitExceeded.retryIn(append(appendCount(b, limit, "request"), " per minute."...), wait)
}

// retryIn returns an error with the message b, which it ends with the wait in seconds.
func (c *errorCode) retryIn(b []byte, wait int64) *Error {
	b = append(appendCount(append(b, " Retry in "...), wait, "second"), '.')
	return c.withMessage(string(b)).retryAfter(wait)
}

// appendCount appends "1 request" or "2 requests".
func appendCount(b []byte, n int64, what string) []byte {
	b = append(append(strconv.AppendInt(b, n, 10), ' '), what...)
	if n != 1 {
		b = append(b, 's')
	}
	return b
}
