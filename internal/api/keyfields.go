package api

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/keys"
)

const (
	maxRangeText  = 50
	scopesOfKeys  = "read, write, manage"
	expiryPast    = "expiresAt must be in the future"
	expiryLate    = "expiresAt must be that of this key at the latest, as its scope is not manage"
	gracePeriod   = 24 * 60 * 60
	wantsDateTime = "expiresAt must be a date and time, such as 2027-01-01T00:00:00Z"
)

// keyMembers are the members of a key that clients write. nullableKeyMembers are those that may be
// null, for none.
var (
	keyMembers         = []string{"name", "scope", "expiresAt", "perMinute", "allowedAddresses", "confirmLockout"}
	nullableKeyMembers = keyMembers[2:5]
)

// readKey reads the members that are there, and rejects unknown ones: a key with a misspelt
// restriction would otherwise be issued without it. A new key must have a name; other members have
// defaults. Allowed addresses without the client's own, on the key that asks, would lock the client
// out, so they need a confirmation.
func (a *api) readKey(x *exchange, data []byte, isNew bool) (e keys.Edit, err error) {
	nullable := nullableKeyMembers
	if !isNew {
		nullable = append([]string{"name"}, nullable...)
	}
	o, err := jsonbody.ReadNullable(data, true, nullable, keyMembers...)
	if err != nil {
		return e, err
	}
	if isNew {
		o.Require("name")
		e = keys.Edit{Scope: new(keys.ScopeWrite), Allowed: new(keys.Ranges)}
	}
	if e.Name = textOf(o, "name", keys.MaxName); o.Null("name") {
		e.Name = new(string)
	}
	if scope := jsonbody.Enum(o, "scope", parseScope, scopesOfKeys); scope != nil {
		e.Scope = scope
	}
	if e.PerMinute = o.Integer("perMinute"); o.Null("perMinute") {
		e.PerMinute = new(int64)
	} else if e.PerMinute != nil && *e.PerMinute < 1 {
		o.Reject("perMinute must be at least 1")
	}
	e.ExpiresAt = expiryOf(o, x.asked.Now)
	if allowed := rangesOf(o); allowed != nil {
		e.Allowed = allowed
	}
	if isNew && o.Null("perMinute") { // null is the default, and must not change the fingerprint
		e.PerMinute = nil
	}
	if isNew && o.Null("expiresAt") {
		e.ExpiresAt = nil
	}
	confirmed := o.True("confirmLockout")
	if err := o.Err(); err != nil {
		return e, err
	}
	isOwn := !isNew && x.keyID() == x.Caller.KeyID
	if from := x.Address(); isOwn && !confirmed && e.Allowed != nil && !contains(*e.Allowed, from) {
		return e, problem.WouldLockOut.WithMessage(
			"allowedAddresses does not contain " + gate.AddressText(
				from,
			) + ", the address of this request. Send confirmLockout: true if that is right.",
		)
	}
	return e, nil
}

func parseScope(s string) (keys.Scope, bool) {
	return keys.Scope(s), slices.Contains(keys.Scopes, keys.Scope(s))
}

// textOf returns a text of 1 to most characters, nil if it is missing or rejected.
func textOf(o *jsonbody.Object, name string, most int) *string {
	text := o.Text(name)
	if text == nil {
		return nil
	}
	if wrong := keys.TextProblem(*text, most); wrong != "" {
		o.Reject(name + " must have " + wrong)
		return nil
	}
	return text
}

// expiryOf returns the member expiresAt, the zero time for null.
func expiryOf(o *jsonbody.Object, now time.Time) *time.Time {
	if o.Null("expiresAt") {
		return new(time.Time)
	}
	text := o.Text("expiresAt")
	if text == nil {
		return nil
	}
	at, ok := parseInstant(*text)
	at = at.UTC().Truncate(time.Microsecond)
	switch {
	case !ok || at.Year() > 9999:
		o.Reject(wantsDateTime)
	case !at.After(now):
		o.Reject(expiryPast)
	}
	return &at
}

// rangesOf returns the member allowedAddresses.
func rangesOf(o *jsonbody.Object) *keys.Ranges {
	if o.Null("allowedAddresses") {
		return new(keys.Ranges)
	}
	texts := o.Texts("allowedAddresses")
	if texts == nil {
		return nil
	}
	for _, text := range texts {
		if len(text) > maxRangeText {
			o.Reject("allowedAddresses must be addresses or blocks, such as 203.0.113.7 or 2001:db8::/32")
			return nil
		}
	}
	ranges, err := keys.ParseRanges(texts)
	if err != nil {
		o.Reject("allowedAddresses: " + strings.TrimSuffix(err.Error(), "?"))
	}
	return &ranges
}

func contains(r keys.Ranges, addr netip.Addr) bool {
	access, err := keys.NewAccess(keys.ScopeManage, r)
	return err == nil && access.From(addr)
}

// readRotation reads {gracePeriod?, expiresAt?}. gracePeriod is in seconds; an expiresAt of null
// means never. A key that rotates itself without the scope to manage keys keeps working for a day.
func readRotation(x *exchange, data []byte) (time.Duration, *time.Time, error) {
	o, err := jsonbody.ReadNullable(data, true, []string{"expiresAt"}, "gracePeriod", "expiresAt")
	if err != nil {
		return 0, nil, err
	}
	seconds, ok := gracePeriodOf(o)
	if ok && seconds != gracePeriod && !x.Caller.Access.May(keys.ScopeManage) {
		o.Reject("gracePeriod must be " + strconv.Itoa(gracePeriod) + ", as this key's scope is not manage")
	}
	expires := expiryOf(o, x.asked.Now)
	return time.Duration(seconds) * time.Second, expires, o.Err()
}

// gracePeriodOf returns the member gracePeriod, a day if it is missing. It is not ok if it was
// rejected.
func gracePeriodOf(o *jsonbody.Object) (seconds int64, ok bool) {
	given := o.Integer("gracePeriod")
	if given == nil {
		return gracePeriod, true
	}
	if most := int64(keys.MaxGracePeriod / time.Second); *given < 0 || *given > most {
		o.Reject("gracePeriod must be from 0 to " + strconv.FormatInt(most, 10) + " seconds")
		return 0, false
	}
	return *given, true
}

// readReplacements reads the query parameter of revokeKey.
func (x *exchange) readReplacements() (bool, error) {
	const name = "replacements"
	raw := x.Request.URL.RawQuery
	if raw == "" {
		return false, nil
	}
	q, err := url.ParseQuery(raw)
	if err != nil && strings.Contains(raw, name) {
		return false, problem.InvalidParameter.WithMessage(malformedQuery)
	}
	var p problems
	x.checkUnknown(&p, []string{name})
	given := lastOf(q[name])
	if p.given(name, given) && given.value != "true" && given.value != "false" {
		p.add(name + " must be true or false")
	}
	if len(p) > 0 {
		return false, p.err()
	}
	return given.value == "true", nil
}

// readReason reads {reason?}.
func readReason(data []byte) (string, error) {
	o, err := jsonbody.Read(data, true, "reason")
	if err != nil {
		return "", err
	}
	if reason := textOf(o, "reason", keys.MaxReason); reason != nil {
		return *reason, o.Err()
	}
	return "", o.Err()
}

// keyID returns the ID of the key in the path.
func (x *exchange) keyID() string {
	if id := x.Param("keyId"); id != self {
		return id
	}
	return x.Caller.KeyID
}
