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
	// Month is the UTC calendar month.
	Month WindowName = "month"
	// Key is a key's own minute.
	Key WindowName = "key"
	// Address is the minute of an address without a valid key.
	Address WindowName = "ip"
)

// Seconds is the length of the window with that name that ends at a Unix time.
func (n WindowName) Seconds(reset int64) int64 {
	switch n {
	case Day:
		return daySeconds
	case Month:
		return reset - MonthReset(MonthAt(time.Unix(reset-1, 0))-1)
	}
	return minuteSeconds
}

// Window is the state of one window after a decision.
type Window struct {
	Name WindowName
	// Number is the number of the minute, day or month. It is part of every counter, so that nothing
	// depends on a time to live.
	Number int64
	// Limit, Remaining (never negative) and Reset (Unix seconds, the first instant of the next
	// window). Reached is true if this window refused the request.
	limiter.Context
}

// phase is the second within the minute at which the tenant's minute windows begin. It depends on
// the tenant's id, so that not all limits reset at once. The id times 2^64 divided by the golden
// ratio, as a fraction of 2^64, spreads any run of ids evenly (Knuth, The Art of Computer
// Programming, volume 3, 6.4). Here its upper half is scaled to a minute.
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

// MonthAt returns the number of the UTC calendar month at an instant, counted from January 1970.
func MonthAt(at time.Time) int64 {
	year, month, _ := at.UTC().Date()
	return int64(year-1970)*12 + int64(month-time.January)
}

// MonthReset returns the Unix time at which the UTC calendar month of that number ends.
func MonthReset(number int64) int64 {
	return time.Date(1970, time.February+time.Month(number), 1, 0, 0, 0, 0, time.UTC).Unix()
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
