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

// Format is the name of the canonical form. A closed month keeps the format with which it was
// sealed: FirstFormat has no month and no overage.
const (
	Format      = "petstore-usage/2"
	FirstFormat = "petstore-usage/1"
)

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
// correction of a closed month. Its JSON members are those of the canonical form (see Format),
// where a zero field with omitzero is null. A member is added in a new Format only.
type Line struct {
	// Month is the month that the line belongs to, such as 2026-10.
	Month    string `json:"month"`
	TenantID int64  `json:"tenant_id"`
	Tenant   string `json:"tenant"`
	Plan     string `json:"plan,omitzero"`
	// PerMinute and PerDay are the numbers in force.
	PerMinute int64 `json:"per_minute,omitzero"`
	PerDay    int64 `json:"per_day,omitzero"`
	// PerMonth is the number of requests of a month that the price includes; nil without a month.
	// OverageLimit is how many more were admitted at most; nil without a limit.
	PerMonth     *int64 `json:"per_month,omitzero"`
	OverageLimit *int64 `json:"overage_limit,omitzero"`
	// From and To bound the part of the month in which these numbers were in force. They are equal
	// if there is none: where clocks disagree, a request may be recorded in a month before or
	// after its plan.
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Admitted int64     `json:"admitted"`
	Refused  int64     `json:"refused"`
	// Overage is the part of Admitted above PerMonth. In a correction it is the difference, also if
	// the other counts are 0.
	Overage    int64 `json:"overage"`
	Assignment int64 `json:"assignment"`
	Version    int64 `json:"version"`
	// Kind is how the assignment was made: assign, boost or end.
	Kind string `json:"kind,omitzero"`
	// Suspended is the number of seconds between From and To in which the tenant was suspended.
	Suspended int64 `json:"suspended_seconds"`
	// Corrects is the month that the line corrects: a closed month, or Month if the line is void;
	// empty if the line corrects none. In a correction the counts are the difference, and From and
	// To are in the corrected month.
	Corrects string `json:"corrects,omitzero"`
	// Void is true if the line takes back the usage in other lines of an assignment made in error,
	// or gives it back after that mark was removed.
	Void bool `json:"void"`
	// Recorded is the hash of the usage recorded for the line; zero if unknown, as in an open
	// month.
	Recorded Hash `json:"recorded_sha256,omitzero"`
	// First is true if the form is FirstFormat.
	First bool `json:"-"`
}

// Time is the text of an instant: RFC 3339 in UTC, with a fraction only if there is one.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// maxExact: up to this number, programs that read numbers as float64 read every integer
// exactly (RFC 8785, appendix D).
const maxExact = 1<<53 - 1

// Form returns the canonical form of the line: its members as JSON by RFC 8785. It refuses a number
// that such JSON cannot represent.
func (l Line) Form() (string, error) {
	l.From, l.To = l.From.UTC(), l.To.UTC()
	text, err := json.Marshal(l)
	if err != nil {
		return "", fmt.Errorf("line of tenant %d: %w", l.TenantID, err)
	}
	members := map[string]json.RawMessage{}
	for _, name := range []string{"plan", "per_minute", "per_day", "per_month", "overage_limit", "from", "to", "kind",
		"corrects", "recorded_sha256"} {
		members[name] = json.RawMessage("null")
	}
	if err := json.Unmarshal(text, &members); err != nil {
		return "", fmt.Errorf("line of tenant %d: %w", l.TenantID, err)
	}
	if l.First {
		for _, name := range []string{"per_month", "overage_limit", "overage"} {
			delete(members, name)
		}
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
	for _, l.First = range []bool{false, true} {
		if again, err := l.Form(); err == nil && again == form {
			return l, nil
		}
	}
	return Line{}, fmt.Errorf("not a canonical form: %q", form)
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
