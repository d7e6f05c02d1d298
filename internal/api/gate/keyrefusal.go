package api

import (
	"errors"
	"net/netip"
	"strings"
	"time"
	"unicode"

	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

// The challenges of a 401 (RFC 6750, section 3). Without a credential, or with one of another
// scheme, the challenge names no error.
const (
	challenge        = `Bearer realm="petstore"`
	challengeInvalid = challenge + `, error="invalid_token"`
	challengeScope   = challenge + `, error="insufficient_scope", scope=`
	challengeSeveral = challengeInvalid + `, error_description="The request has two Authorization headers"`
)

// descriptions tell programs why a key that exists is not valid, as error_description.
// docs/errors.md lists them, and they never change.
var descriptions = map[keys.Status]string{
	keys.Expired:          "The API key has expired",
	keys.Revoked:          "The API key was revoked",
	keys.TenantSuspended:  "The account is suspended",
	keys.OtherEnvironment: "The API key is for the other deployment",
}

// malformations are what keeps a text from being a key, the first one that is so. They are known
// from the text alone, before any look-up, and so tell nobody which keys there are.
var malformations = []struct {
	is   func(text string) bool
	what string
}{
	{
		func(s string) bool { return strings.Trim(s, "\"'`‘’“”<>") != s },
		"it is in quotes or brackets. Send it without them",
	},
	{func(s string) bool {
		first, _, _ := strings.Cut(s, " ")
		return strings.EqualFold(strings.TrimRight(first, ":"), "Bearer")
	}, "the header has Bearer twice. Send it once"},
	{
		func(s string) bool { return strings.ContainsFunc(s, unicode.IsSpace) },
		"it has a blank. Send it without any",
	},
	{
		func(s string) bool { return !strings.HasPrefix(s, "pst_live_") && !strings.HasPrefix(s, "pst_test_") },
		"it does not begin with pst_live_ or pst_test_. Send the key itself",
	},
	{func(s string) bool { return len(s) < keys.TokenLength }, "it is shorter than 45 characters. Copy the whole key"},
	{func(s string) bool { return len(s) > keys.TokenLength }, "it is longer than 45 characters. Copy the key alone"},
	{func(string) bool { return true }, "its checksum is wrong, so a character was changed. Copy the key anew"},
}

// malformedKey returns the refusal of a text that is no key. Its reason is for support.
func (r *keyRefusals) malformedKey(text string) *Error {
	for i, m := range malformations {
		if m.is(text) {
			return r.malformed[i]
		}
	}
	return r.unknownKey // not reached: the last one is always so
}

// keyRefusals are the refusals of requests without a valid key. Every unknown key gets the same
// answer: only support sees why. The text of a malformed one says what is wrong with it. Who holds a
// key that was issued is told what is wrong with it: a key has 178 random bits, so nobody else can
// send it.
type keyRefusals struct {
	support Support
	// aboutBan is what the message of a ban ends with.
	aboutBan string

	missingKey, otherScheme                      *Error
	severalHeaders, otherEnvironment, unknownKey *Error
	malformed                                    []*Error
}

func newKeyRefusals(s Support) *keyRefusals {
	missing, invalid := s.sentence("Ask ", " for one"), s.sentence("Ask ", " for help")
	var malformed []*Error
	for _, m := range malformations {
		e := &Error{
			code:    codeInvalidAPIKey,
			message: "The API key is malformed: " + m.what + "." + invalid,
			reason:  usage.Malformed,
		}
		e.body = errorBody(codeInvalidAPIKey, e.message)
		malformed = append(malformed, e)
	}
	return &keyRefusals{
		malformed: malformed, support: s, aboutBan: invalid,
		missingKey:       refusalBy(codeMissingAPIKey, missing, ""),
		otherScheme:      refusalBy(codeMissingAPIKey, missing, usage.OtherScheme),
		severalHeaders:   severalHeaders(),
		otherEnvironment: refusalBy(codeInvalidAPIKey, invalid, usage.OtherEnvironment),
		unknownKey:       refusalBy(codeInvalidAPIKey, invalid, usage.UnknownKey),
	}
}

// severalHeaders returns the refusal of a request with more than one Authorization header. It says
// nothing about the keys in them, which nobody has looked at.
func severalHeaders() *Error {
	const message = "The request has two Authorization headers. Send one."
	return &Error{
		code: codeInvalidAPIKey, message: message, reason: usage.SeveralHeaders,
		challenge: challengeSeveral, body: errorBody(codeInvalidAPIKey, message),
	}
}

// refusalBy returns an error that is sent as it is: its response is made now.
func refusalBy(c *errorCode, about, reason string) *Error {
	e := &Error{code: c, message: c.message + about, reason: reason}
	e.body = errorBody(c, e.message)
	return e
}

// elsewhere returns the refusal of a key that may not be used from the address. It does not say
// from where it may be: who sends it may have stolen it.
func (r *keyRefusals) elsewhere(from netip.Addr) *Error {
	return codeAddressNotAllowed.withMessage(
		"This API key can't be used from " + addressText(
			from,
		) + ". Send the request from one of its addresses, or allow " +
			"this one: with a key that may manage keys, on your account page, or through " + r.support.String() + ".",
	)
}

// addressText names the address of a request.
func addressText(from netip.Addr) string {
	if !from.IsValid() {
		return "an address that is not known"
	}
	return from.String()
}

// scopeRefusal returns the refusal of a key whose scope is another than the operation needs.
func scopeRefusal(has, needs keys.Scope) *Error {
	e := codeInsufficientScope.withMessage(
		"This API key has the scope " + string(has) + ", and this operation needs the scope " + string(needs) + ".",
	)
	e.challenge = challengeScope + `"` + string(needs) + `"`
	return e
}

// notValid returns the refusal of a key that is not valid, whose caller is nil if there is no such
// key. Its reason is the status by which the directory judged: a moment before or after, another
// clock would find another one.
func (r *keyRefusals) notValid(c *keys.Caller, err error) *Error {
	status := keys.StatusError("")
	if c == nil || !errors.As(err, &status) {
		return r.unknownKey
	}
	return &Error{
		code: codeInvalidAPIKey, message: r.text(c, keys.Status(status)), reason: string(status),
		challenge: challengeInvalid + `, error_description="` + descriptions[keys.Status(status)] + `"`,
	}
}

// endedKey returns the refusal of a key that the store no longer took, a moment before the directory
// knew. err is a keys.StatusError too if there is such a key.
func endedKey(err error) *Error {
	e, status := codeInvalidAPIKey.err(), keys.StatusError("")
	if errors.As(err, &status) {
		about := descriptions[keys.Status(status)]
		e = codeInvalidAPIKey.withMessage(about + ".")
		e.reason, e.challenge = string(status), challengeInvalid+`, error_description="`+about+`"`
	}
	return e
}

// text tells the holder of a key what is wrong with it, and what to do.
func (r *keyRefusals) text(c *keys.Caller, s keys.Status) string {
	switch s {
	case keys.Expired:
		return "This API key expired at " + instant(
			c.ExpiresAt,
		) + ". Use its replacement, or ask " + r.support.String() + " for a new key."
	case keys.Revoked:
		return "This API key was revoked at " + instant(
			time.Unix(c.RevokedAt, 0),
		) + ". Use another one, or ask " + r.support.String() + " for a new key."
	case keys.TenantSuspended:
		return "The account of this API key has been suspended since " + instant(
			c.Tenant.SuspendedAt,
		) + ". Ask " + r.support.String() + " to resume it."
	case keys.OtherEnvironment:
		if c.Environment == keys.Test {
			return "This API key (pst_test_) is for staging, and this is production. Send a key that begins with " +
				"pst_live_, or send the request to staging."
		}
		return "This API key (pst_live_) is for production, and this is staging. Send a key that begins with " +
			"pst_test_, or send the request to production."
	}
	return codeInvalidAPIKey.message
}

// instant returns the time in UTC, to the second: 2026-11-20T09:21:48Z.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }
