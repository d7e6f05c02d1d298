package plans

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"petstore.example/internal/spelling"
)

// MonthKind says whether a quota has a month.
type MonthKind uint8

// The kinds of months. AsBefore is of changes only: the month, or the overage, is that of before. In
// a quota in force the zero value is none.
const (
	AsBefore MonthKind = iota
	NoMonth
	SomeMonth
)

// OverageKind says how many requests are admitted above the included ones, and billed apart.
type OverageKind uint8

// The kinds of overage.
const (
	OverageAsBefore OverageKind = iota
	// NoOverage: the included requests are a limit.
	NoOverage
	// OverageNumber: so many requests.
	OverageNumber
	// OverageShare: a percentage of the included requests, rounded down.
	OverageShare
	// OverageUnlimited: there is no limit per month.
	OverageUnlimited
)

// Month is what a quota says of a UTC calendar month. The zero Month is none; in a change of a
// quota it is what was before.
type Month struct {
	Kind MonthKind
	// Included is the number of requests that the price includes.
	Included int64
	Overage  Overage
}

// Overage is how many requests a month may have above the included ones. The zero Overage is none;
// in a change it is what was before.
type Overage struct {
	Kind OverageKind
	// Value is requests or per cent, and 0 for the other kinds.
	Value int64
}

const (
	// maxMonth is the highest number of requests, maxShare the highest percentage. So a cap is
	// exact as a double, as Redis has it.
	maxMonth = 1_000_000_000_000
	maxShare = 100_000
)

// InForce returns the month with nothing but zero values for what is none.
func (m Month) InForce() Month {
	if m.Kind != SomeMonth {
		return Month{}
	}
	if m.Overage.Kind == NoOverage {
		m.Overage = Overage{}
	}
	return m
}

// Over returns the month after a change: what m does not name is as before. Without a month there is
// no overage.
func (m Month) Over(before Month) Month {
	if before.Kind == NoMonth {
		before.Overage = Overage{Kind: NoOverage}
	}
	if m.Kind == AsBefore {
		m.Kind, m.Included = before.Kind, before.Included
	}
	if m.Kind != NoMonth && m.Overage.Kind == OverageAsBefore {
		m.Overage = before.Overage
	}
	return m
}

// Less reports whether the month includes or admits fewer requests than another one.
func (m Month) Less(o Month) bool {
	if m.Kind != SomeMonth || o.Kind != SomeMonth {
		return m.Kind == SomeMonth
	}
	limit, limited := m.Cap()
	other, otherLimited := o.Cap()
	return m.Included < o.Included || limited && (!otherLimited || limit < other)
}

// Limit returns how many requests are admitted above the included number; ok is false for no limit.
func (o Overage) Limit(included int64) (limit int64, ok bool) {
	switch o.Kind {
	case OverageNumber:
		return o.Value, true
	case OverageShare:
		return included * o.Value / 100, true
	case OverageUnlimited:
		return 0, false
	}
	return 0, true
}

// Cap returns how many requests of a month are admitted; ok is false if there is no limit per month.
func (m Month) Cap() (limit int64, ok bool) {
	if limit, ok = m.Overage.Limit(m.Included); m.Kind != SomeMonth || !ok {
		return 0, false
	}
	return m.Included + limit, true
}

// DayUnder returns the day's number when the month changes: a day that may have what the month admits
// keeps that. Otherwise it is as before, also if there is no limit per month any more.
func (q Quota) DayUnder(m Month) int64 {
	was, limited := q.Month.Cap()
	if limit, ok := m.Cap(); limited && q.PerDay == was && ok && limit > 0 {
		return limit
	}
	return q.PerDay
}

// Words says what a quota allows, for customers.
func (q Quota) Words() string {
	text := spelling.Thousands(q.PerMinute) + " requests per minute"
	day := spelling.Thousands(q.PerDay) + " per day"
	if q.Month.Kind != SomeMonth {
		return text + " and " + day
	}
	text += ", " + day + " and " + spelling.Thousands(q.Month.Included) + " per month"
	switch limit, limited := q.Month.Overage.Limit(q.Month.Included); {
	case !limited:
		return text + ", with any number more that are billed apart"
	case limit > 0:
		return text + ", with " + spelling.Thousands(limit) + " more that are billed apart"
	}
	return text
}

// Validate says what is wrong with numbers that staff gave for a month in force.
func (m Month) Validate() error {
	o := m.Overage
	switch {
	case m.Kind != SomeMonth && o.Kind > NoOverage:
		return fmt.Errorf("overage %s needs requests per month", o)
	case m.Kind != SomeMonth:
		return nil
	case m.Included < 0 || m.Included > maxMonth:
		return fmt.Errorf("requests per month must be from 0 to %d, not %d", int64(maxMonth), m.Included)
	case o.Kind == OverageNumber && (o.Value < 1 || o.Value > maxMonth):
		return fmt.Errorf("overage must be from 1 to %d requests, not %d", int64(maxMonth), o.Value)
	case o.Kind == OverageShare && (o.Value < 1 || o.Value > maxShare):
		return fmt.Errorf("overage must be from 1%% to %d%%, not %d%%", maxShare, o.Value)
	}
	if limit, ok := m.Cap(); ok && limit == 0 {
		return errors.New("0 requests per month need an overage that admits some")
	}
	return nil
}

// String returns the overage as staff write it: none, 1000, 20% or unlimited.
func (o Overage) String() string {
	switch o.Kind {
	case OverageNumber:
		return strconv.FormatInt(o.Value, 10)
	case OverageShare:
		return strconv.FormatInt(o.Value, 10) + "%"
	case OverageUnlimited:
		return "unlimited"
	}
	return "none"
}

// ParseOverage reads what String returns.
func ParseOverage(text string) (Overage, error) {
	switch text {
	case "none":
		return Overage{Kind: NoOverage}, nil
	case "unlimited":
		return Overage{Kind: OverageUnlimited}, nil
	}
	number, isShare := strings.CutSuffix(text, "%")
	value, err := strconv.ParseInt(number, 10, 64)
	if err != nil || value < 1 {
		return Overage{}, fmt.Errorf(
			"%.80q is not none, a number such as 1000, a share such as 20%%, or unlimited",
			text,
		)
	}
	if isShare {
		return Overage{Kind: OverageShare, Value: value}, nil
	}
	return Overage{Kind: OverageNumber, Value: value}, nil
}
