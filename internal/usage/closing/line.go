package closing

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Format is the name of the canonical form. A closed month keeps that with which it was sealed.
const Format = "petstore-usage/1"

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Line is what a tenant used in a month under an assignment and a version of its plan, or a correction of a month that is closed.
type Line struct {
	// Month is the month that has the line, such as 2026-10.
	Month    string
	TenantID int64
	Tenant   string
	Plan     string
	// PerMinute and PerDay are the numbers that were in force.
	PerMinute, PerDay int64
	// From and To are when they were in force within the month. They are equal if they were not: where clocks disagree, a request may be
	// recorded in a month before or after its plan.
	From, To          time.Time
	Admitted, Refused int64
	Assignment        int64
	Version           int64
	// Kind is how the assignment came to be: assign, boost or end.
	Kind string
	// Suspended is for how many seconds the tenant was suspended between From and To.
	Suspended int64
	// Corrects is the month that the line corrects, a closed one or, if it is void, Month; empty for a line of Month itself. The counts are the
	// difference, and From and To are in the month that is corrected.
	Corrects string
	// Void says that the line takes back what others have of the assignment, which was a mistake, or gives it back if it was none.
	Void bool
	// Recorded is the hash of what is recorded for the line; zero if that is not known, as in a month that is open.
	Recorded Hash
}

// member is a member of the canonical form: its value, nil for none, and the tables that it comes from.
type member struct {
	name  string
	value func(*Line) any
	from  string
}

// members are those of the canonical form of Format. Nothing may be added.
var members = []member{
	{"month", func(l *Line) any { return l.Month }, "usage_hourly"},
	{"tenant_id", func(l *Line) any { return l.TenantID }, "tenants"},
	{"tenant", func(l *Line) any { return l.Tenant }, "tenants"},
	{"plan", func(l *Line) any { return orNil(l.Plan) }, "tenant_plans"},
	{"per_minute", func(l *Line) any { return orNil(l.PerMinute) }, "tenant_plans or plan_versions"},
	{"per_day", func(l *Line) any { return orNil(l.PerDay) }, "tenant_plans or plan_versions"},
	{"from", func(l *Line) any { return timeOrNil(l.From) }, "tenant_plans or plan_versions"},
	{"to", func(l *Line) any { return timeOrNil(l.To) }, "tenant_plans or plan_versions"},
	{"admitted", func(l *Line) any { return l.Admitted }, "usage_hourly"},
	{"refused", func(l *Line) any { return l.Refused }, "usage_hourly"},
	{"assignment", func(l *Line) any { return l.Assignment }, "tenant_plans"},
	{"version", func(l *Line) any { return l.Version }, "plan_versions"},
	{"kind", func(l *Line) any { return orNil(l.Kind) }, "tenant_plans"},
	{"suspended_seconds", func(l *Line) any { return l.Suspended }, "tenant_suspensions"},
	{"corrects", func(l *Line) any { return orNil(l.Corrects) }, "usage_late"},
	{"void", func(l *Line) any { return l.Void }, "tenant_plans"},
	{"recorded_sha256", func(l *Line) any { return hashOrNil(l.Recorded) }, "usage_hourly"},
}

func orNil[T comparable](v T) any {
	var none T
	if v == none {
		return nil
	}
	return v
}

// Time is the text of an instant: RFC 3339 in UTC, with a fraction only if there is one.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func timeOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return Time(t)
}

func hashOrNil(h Hash) any {
	if h == (Hash{}) {
		return nil
	}
	return h.String()
}

// maxExact is the largest integer up to which a program that reads numbers as float64 reads every one exactly (RFC 8785, appendix D).
const maxExact = 1<<53 - 1

// Form returns the canonical form of the line: its members as JSON by RFC 8785. It refuses a number that such JSON cannot have.
func (l *Line) Form() (string, error) {
	values := make(map[string]any, len(members))
	for _, m := range members {
		v := m.value(l)
		if n, ok := v.(int64); ok && (n > maxExact || n < -maxExact) {
			return "", fmt.Errorf("line of tenant %d: %s is %d, which JSON cannot have exactly", l.TenantID, m.name, n)
		}
		values[m.name] = v
	}
	text, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("line of tenant %d: %w", l.TenantID, err)
	}
	form := jsontext.Value(text)
	if err := form.Canonicalize(); err != nil {
		return "", fmt.Errorf("line of tenant %d: %w", l.TenantID, err)
	}
	return string(form), nil
}

// Sum returns the SHA-256 of a canonical form.
func Sum(form string) Hash { return sha256.Sum256([]byte(form)) }

// parsed is a canonical form as JSON.
type parsed struct {
	Month      string     `json:"month"`
	TenantID   int64      `json:"tenant_id"`
	Tenant     string     `json:"tenant"`
	Plan       string     `json:"plan"`
	PerMinute  int64      `json:"per_minute"`
	PerDay     int64      `json:"per_day"`
	From       *time.Time `json:"from"`
	To         *time.Time `json:"to"`
	Admitted   int64      `json:"admitted"`
	Refused    int64      `json:"refused"`
	Assignment int64      `json:"assignment"`
	Version    int64      `json:"version"`
	Kind       string     `json:"kind"`
	Suspended  int64      `json:"suspended_seconds"`
	Corrects   string     `json:"corrects"`
	Void       bool       `json:"void"`
	Recorded   *string    `json:"recorded_sha256"`
}

// Parse reads a canonical form. It refuses every other text.
func Parse(form string) (Line, error) {
	var p parsed
	dec := json.NewDecoder(bytes.NewReader([]byte(form)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return Line{}, fmt.Errorf("not a canonical form: %w", err)
	}
	l := Line{
		Month: p.Month, TenantID: p.TenantID, Tenant: p.Tenant, Plan: p.Plan, PerMinute: p.PerMinute, PerDay: p.PerDay,
		Admitted: p.Admitted, Refused: p.Refused, Assignment: p.Assignment, Version: p.Version, Kind: p.Kind,
		Suspended: p.Suspended, Corrects: p.Corrects, Void: p.Void,
	}
	if p.From != nil {
		l.From = p.From.UTC()
	}
	if p.To != nil {
		l.To = p.To.UTC()
	}
	if p.Recorded != nil {
		sum, err := hex.DecodeString(*p.Recorded)
		if err != nil || len(sum) != len(l.Recorded) {
			return Line{}, fmt.Errorf("not a canonical form: recorded_sha256 is %q", *p.Recorded)
		}
		l.Recorded = Hash(sum)
	}
	if again, err := l.Form(); err != nil || again != form {
		return Line{}, fmt.Errorf("not a canonical form: %q", form)
	}
	return l, nil
}
