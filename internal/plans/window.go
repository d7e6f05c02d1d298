package plans

import (
	"time"

	"github.com/ulule/limiter/v3"
)

const (
	minuteSeconds = 60
	daySeconds    = 24 * 60 * 60
)

// WindowName tells the windows apart, in headers and messages too.
type WindowName string

// The windows in which requests are counted.
const (
	Minute WindowName = "minute"
	Day    WindowName = "day"
	// Key is a key's own minute.
	Key WindowName = "key"
)

// Window is the state of one window after a decision.
type Window struct {
	Name WindowName
	// Number says which minute or day it is: it is part of the counter's name, so that nothing depends on a counter's
	// time to live.
	Number int64
	// Limit, Remaining (never negative) and Reset (Unix seconds, the first instant of the next window).
	// Reached is true when this window refused the request.
	limiter.Context
}

// phase is the second within the minute at which the tenant's minute windows begin, fixed by the tenant's id, so that
// tenants' resets do not stampede. The id times 2^64 divided by the golden ratio, as a fraction of 2^64, spreads any run
// of ids evenly (Knuth, The Art of Computer Programming, volume 3, 6.4); here of its upper half, scaled to a minute.
func phase(tenantID int64) int64 {
	return int64(uint64(tenantID) * 0x9E3779B97F4A7C15 >> 32 * minuteSeconds >> 32)
}

// minuteAt returns the number of the tenant's minute window at an instant.
func minuteAt(tenantID int64, at time.Time) int64 {
	return floorDiv(at.Unix()-phase(tenantID), minuteSeconds)
}

// minuteReset returns the Unix time at which the tenant's minute window of that number ends.
func minuteReset(tenantID, number int64) int64 {
	return (number+1)*minuteSeconds + phase(tenantID)
}

// DayAt returns the number of the UTC day at an instant, counted from 1 January 1970.
func DayAt(at time.Time) int64 { return floorDiv(at.Unix(), daySeconds) }

func dayReset(number int64) int64 { return (number + 1) * daySeconds }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
