package tenants

import (
	"database/sql"

	"petstore.example/internal/plans"
)

// MonthColumns are the columns of a month. Views have what is in force, and no column month.
type MonthColumns struct {
	// Kind is none, some, or null for the month of before.
	Kind     sql.NullString `db:"month"`
	PerMonth sql.NullInt64  `db:"per_month"`
	// Overage is none, number, share, unlimited, or null for the overage of before.
	Overage sql.NullString `db:"overage"`
	Value   sql.NullInt64  `db:"overage_value"`
}

var overages = map[string]plans.OverageKind{
	"none": plans.NoOverage, "number": plans.OverageNumber, "share": plans.OverageShare,
	"unlimited": plans.OverageUnlimited,
}

// InForce returns the month of columns in force.
func (c MonthColumns) InForce() plans.Month {
	if c.PerMonth.Valid {
		c.Kind.String = "some"
	}
	return c.Change().InForce()
}

// Change returns the month of the columns of an assignment, which may be as before.
func (c MonthColumns) Change() plans.Month {
	m := plans.Month{Included: c.PerMonth.Int64}
	switch c.Kind.String {
	case "none":
		m.Kind = plans.NoMonth
	case "some":
		m.Kind = plans.SomeMonth
	}
	m.Overage = plans.Overage{Kind: overages[c.Overage.String], Value: c.Value.Int64}
	return m
}

// ColumnsOf returns the columns of the month of a change.
func ColumnsOf(m plans.Month) (c MonthColumns) {
	switch m.Kind {
	case plans.NoMonth:
		c.Kind = sql.NullString{String: "none", Valid: true}
	case plans.SomeMonth:
		c.Kind = sql.NullString{String: "some", Valid: true}
		c.PerMonth = sql.NullInt64{Int64: m.Included, Valid: true}
	}
	for name, kind := range overages {
		if kind == m.Overage.Kind {
			c.Overage = sql.NullString{String: name, Valid: true}
		}
	}
	c.Value = sql.NullInt64{Int64: m.Overage.Value, Valid: m.Overage.Value != 0}
	return c
}

// Args returns the columns as arguments of a statement, in the order of the fields.
func (c MonthColumns) Args() []any { return []any{c.Kind, c.PerMonth, c.Overage, c.Value} }

// MonthRecord is what an audit entry holds of a month. The empty record is none; in a change it is as
// before, and Month says none.
type MonthRecord struct {
	Month    string `json:"month,omitempty"`
	PerMonth *int64 `json:"per_month,omitempty"`
	Overage  string `json:"overage,omitempty"`
}

// RecordMonth returns the record of a month in force, or of a change.
func RecordMonth(m plans.Month) (r MonthRecord) {
	switch m.Kind {
	case plans.NoMonth:
		r.Month = "none"
	case plans.SomeMonth:
		r.PerMonth = &m.Included
	}
	if m.Overage.Kind != plans.OverageAsBefore {
		r.Overage = m.Overage.String()
	}
	return r
}

// Change returns the month of the record of a change.
func (r MonthRecord) Change() (m plans.Month) {
	switch {
	case r.Month == "none":
		m.Kind = plans.NoMonth
	case r.PerMonth != nil:
		m.Kind, m.Included = plans.SomeMonth, *r.PerMonth
	}
	m.Overage, _ = plans.ParseOverage(r.Overage)
	return m
}

// Since returns the change that restores the month in force of the record: as before if it is that of
// the other record. The programs of the last release write no months.
func (r MonthRecord) Since(other MonthRecord) plans.Month {
	m := r.Change()
	if m == other.Change() {
		return plans.Month{}
	}
	return m.Over(plans.Month{Kind: plans.NoMonth})
}
