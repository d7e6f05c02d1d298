package limits

import (
	"time"

	"github.com/ulule/limiter/v3"
)

const (
	minuteSeconds = 60
	daySeconds    = 24 * 60 * 60
)

// WindowName names a window, also in headers and messages.
type WindowName string

// The windows in which requests are counted.
const (
	Minute WindowName = "minute"
	Day    WindowName = "day"
	// Key is a key's own minute.
	Key WindowName = "key"
	// Address is the minute of an address without a valid key.
	Address WindowName = "ip"
)

// Seconds is how long a window of that name is.
func (n WindowName) Seconds() int64 {
	if n == Day {
		return daySeconds
	}
	return minuteSeconds
}

// Window is the state of one window after a decision.
type Window struct {
	Name WindowName
	// Number says which minute or day it is. It is part of every counter, so that nothing depends
	// on a time to live.
	Number int64
	// Limit, Remaining (never negative) and Reset (Unix seconds, the first instant of the next
	// window). Reached is true if this window refused the request.
	limiter.Context
}

// phase is the second within the minute at which the tenant's minute windows begin. It depends on
// the tenant's id, so that not all tenants' limits reset at once. The id times 2^64 divided by the
// golden ratio, as a fraction of 2^64, spreads any run of ids evenly (Knuth, The Art of Computer
// Programming, volume 3, 6.4); here of its upper half, scaled to a minute.
func phase(tenantID int64) int64 {
	return int64(uint64(tenantID) * 0x9E3779B97F4A7C15 >> 32 * minuteSeconds >> 32)
}

// MinuteAt returns the number of the tenant's minute window at an instant.
func MinuteAt(tenantID int64, at time.Time) int64 {
	return floorDiv(at.Unix()-phase(tenantID), minuteSeconds)
}

// MinuteReset returns the Unix time at which the tenant's minute window of that number ends.
func MinuteReset(tenantID, number int64) int64 {
	return (number+1)*minuteSeconds + phase(tenantID)
}

// DayAt returns the number of the UTC day at an instant, counted from 1 January 1970.
func DayAt(at time.Time) int64 { return floorDiv(at.Unix(), daySeconds) }

// DayReset returns the Unix time at which the UTC day of that number ends.
func DayReset(number int64) int64 { return (number + 1) * daySeconds }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
