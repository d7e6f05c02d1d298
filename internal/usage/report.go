package usage

import (
	"cmp"
	"slices"
	"time"
)

// Report is a tenant's recorded usage in one UTC month, as it is billed: usage recorded in time,
// and the corrections of earlier months.
type Report struct {
	Month
	// Keys are in the order of their IDs. Each has as many days as the month.
	Keys []KeyUsage
	// Corrections are in the order of their months.
	Corrections []Correction
}

// KeyUsage is the usage of one key. Name is empty if the key has none, or was removed.
type KeyUsage struct {
	KeyID, Name string
	Month       Month
}

// Correction is usage that arrived after its month was closed, and is billed in a later one.
type Correction struct {
	Month             time.Time
	Admitted, Refused int64
}

// NewReport returns a report of the month that begins at month, without usage. The current month
// has its days up to now.
func NewReport(month, now time.Time) Report {
	end := month.AddDate(0, 1, 0)
	if !now.Before(month) && now.Before(end) {
		return Report{Month: NewMonth(now)}
	}
	return Report{Month: NewMonth(end.Add(-1))}
}

// AddKey adds a key's use on the day that begins at date.
func (r *Report) AddKey(keyID, name string, date time.Time, admitted, refused int64) {
	i, found := slices.BinarySearchFunc(
		r.Keys,
		keyID,
		func(k KeyUsage, id string) int { return cmp.Compare(k.KeyID, id) },
	)
	if !found {
		days := slices.Clone(r.Days)
		for i := range days {
			days[i].Admitted, days[i].Refused = 0, 0
		}
		r.Keys = slices.Insert(r.Keys, i, KeyUsage{keyID, name, Month{Days: days}})
	}
	r.Add(date, admitted, refused)
	r.Keys[i].Month.Add(date, admitted, refused)
}

// Correct adds a correction of a month. Corrections come in the order of their months.
func (r *Report) Correct(month time.Time, admitted, refused int64) {
	if n := len(r.Corrections); n == 0 || !r.Corrections[n-1].Month.Equal(month) {
		r.Corrections = append(r.Corrections, Correction{Month: month})
	}
	last := &r.Corrections[len(r.Corrections)-1]
	last.Admitted += admitted
	last.Refused += refused
}
