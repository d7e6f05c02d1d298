package closing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Format is the name of the canonical form. A closed month keeps that with which it was sealed.
const Format = "petstore-usage/1"

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler, in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("%.80q is not a SHA-256", text)
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// Line is what a tenant used in a month under an assignment and a version of its plan, or a
// correction of a month that is closed. Its members in JSON are those of the canonical form of
// Format, where omitzero stands for null. Nothing may be added.
type Line struct {
	// Month is the month that has the line, such as 2026-10.
	Month    string `json:"month"`
	TenantID int64  `json:"tenant_id"`
	Tenant   string `json:"tenant"`
	Plan     string `json:"plan,omitzero"`
	// PerMinute and PerDay are the numbers that were in force.
	PerMinute int64 `json:"per_minute,omitzero"`
	PerDay    int64 `json:"per_day,omitzero"`
	// From and To are when they were in force within the month. They are equal if they were not:
	// where clocks disagree, a request may be recorded in a month before or after its plan.
	From       time.Time `json:"from,omitzero"`
	To         time.Time `json:"to,omitzero"`
	Admitted   int64     `json:"admitted"`
	Refused    int64     `json:"refused"`
	Assignment int64     `json:"assignment"`
	Version    int64     `json:"version"`
	// Kind is how the assignment came to be: assign, boost or end.
	Kind string `json:"kind,omitzero"`
	// Suspended is for how many seconds the tenant was suspended between From and To.
	Suspended int64 `json:"suspended_seconds"`
	// Corrects is the month that the line corrects, a closed one or, if it is void, Month; empty
	// for a line of Month itself. The counts are the difference, and From and To are in the month
	// that is corrected.
	Corrects string `json:"corrects,omitzero"`
	// Void says that the line takes back what others have of the assignment, which was a mistake,
	// or gives it back if it was none.
	Void bool `json:"void"`
	// Recorded is the hash of what is recorded for the line; zero if that is not known, as in a
	// month that is open.
	Recorded Hash `json:"recorded_sha256,omitzero"`
}

// Time is the text of an instant: RFC 3339 in UTC, with a fraction only if there is one.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// maxExact is the largest integer up to which a program that reads numbers as float64 reads every
// one exactly (RFC 8785, appendix D).
const maxExact = 1<<53 - 1

// Form returns the canonical form of the line: its members as JSON by RFC 8785. It refuses a number
// that such JSON cannot have.
func (l Line) Form() (string, error) {
	l.From, l.To = l.From.UTC(), l.To.UTC()
	text, err := json.Marshal(l)
	if err != nil {
		return "", fmt.Errorf("line of tenant %d: %w", l.TenantID, err)
	}
	members := map[string]json.RawMessage{}
	for _, name := range []string{"plan", "per_minute", "per_day", "from", "to", "kind", "corrects",
		"recorded_sha256"} {
		members[name] = json.RawMessage("null")
	}
	if err := json.Unmarshal(text, &members); err != nil {
		return "", fmt.Errorf("line of tenant %d: %w", l.TenantID, err)
	}
	for name, value := range members {
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && (n > maxExact || n < -maxExact) {
			return "", fmt.Errorf("line of tenant %d: %s is %d, which JSON cannot have exactly", l.TenantID, name, n)
		}
	}
	text, err = json.Marshal(members)
	form := jsontext.Value(text)
	if err == nil {
		err = form.Canonicalize()
	}
	if err != nil {
		return "", fmt.Errorf("line of tenant %d: %w", l.TenantID, err)
	}
	return string(form), nil
}

// Sum returns the SHA-256 of a canonical form.
func Sum(form string) Hash { return sha256.Sum256([]byte(form)) }

// Parse reads a canonical form. It refuses every other text.
func Parse(form string) (Line, error) {
	var l Line
	if err := json.Unmarshal([]byte(form), &l); err != nil {
		return Line{}, fmt.Errorf("not a canonical form: %w", err)
	}
	if again, err := l.Form(); err != nil || again != form {
		return Line{}, fmt.Errorf("not a canonical form: %q", form)
	}
	return l, nil
}

// Differing returns the names of the members in which two JSON objects differ, sorted.
func Differing(a, b string) ([]string, error) {
	var x, y map[string]any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		return nil, fmt.Errorf("%.80q: %w", a, err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		return nil, fmt.Errorf("%.80q: %w", b, err)
	}
	maps.DeleteFunc(x, func(name string, value any) bool {
		other, ok := y[name]
		delete(y, name)
		return ok && reflect.DeepEqual(value, other)
	})
	maps.Copy(x, y)
	return slices.Sorted(maps.Keys(x)), nil
}
