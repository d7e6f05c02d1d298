package gate

import (
	"errors"
	"net/netip"
	"strings"
	"time"
	"unicode"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

// malformations are reasons why a text is not a key; the first that applies is used. They follow
// from the text alone, without a look-up, so they do not reveal which keys exist.
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

// malformedKey returns the refusal of a text that is not a key. Its reason is for support.
func (r *keyRefusals) malformedKey(text string) *problem.Error {
	for i, m := range malformations {
		if m.is(text) {
			return r.malformed[i]
		}
	}
	return r.unknownKey // not reached: the last one always applies
}

// keyRefusals are the refusals of requests without a valid key. All unknown keys get the same
// answer: only support sees why. For a malformed key the answer says what is wrong. It does so for
// an issued key that is not valid, too: a key has 178 random bits, so only its holder can send it.
type keyRefusals struct {
	support problem.Support
	// aboutBan is the end of a ban's message.
	aboutBan string

	missingKey, otherScheme                      *problem.Error
	severalHeaders, otherEnvironment, unknownKey *problem.Error
	malformed                                    []*problem.Error
}

func newKeyRefusals(s problem.Support) *keyRefusals {
	missing, invalid := s.Sentence("Ask ", " for one"), s.Sentence("Ask ", " for help")
	var malformed []*problem.Error
	for _, m := range malformations {
		e := &problem.Error{
			Code:    problem.InvalidAPIKey,
			Message: "The API key is malformed: " + m.what + "." + invalid,
			Reason:  usage.Malformed,
		}
		e.Body = problem.Body(problem.InvalidAPIKey, e.Message)
		malformed = append(malformed, e)
	}
	return &keyRefusals{
		malformed: malformed, support: s, aboutBan: invalid,
		missingKey:       refusalBy(problem.MissingAPIKey, missing, ""),
		otherScheme:      refusalBy(problem.MissingAPIKey, missing, usage.OtherScheme),
		severalHeaders:   severalHeaders(),
		otherEnvironment: refusalBy(problem.InvalidAPIKey, invalid, usage.OtherEnvironment),
		unknownKey:       refusalBy(problem.InvalidAPIKey, invalid, usage.UnknownKey),
	}
}

// severalHeaders returns the refusal of a request with more than one Authorization header. It says
// nothing about the keys in them, because they are not looked up.
func severalHeaders() *problem.Error {
	const message = "The request has two Authorization headers. Send one."
	return &problem.Error{
		Code: problem.InvalidAPIKey, Message: message, Reason: usage.SeveralHeaders,
		Challenge: problem.ChallengeSeveral, Body: problem.Body(problem.InvalidAPIKey, message),
	}
}

// refusalBy returns an error whose response is rendered now and later sent unchanged.
func refusalBy(c *problem.Code, about, reason string) *problem.Error {
	e := &problem.Error{Code: c, Message: c.Message + about, Reason: reason}
	e.Body = problem.Body(c, e.Message)
	return e
}

// elsewhere returns the refusal of a key that may not be used from the address. It does not say
// where the key may be used: the sender may have stolen it.
func (r *keyRefusals) elsewhere(from netip.Addr) *problem.Error {
	return problem.AddressNotAllowed.WithMessage(
		"This API key can't be used from " + AddressText(
			from,
		) + ". Send the request from one of its addresses, or allow " +
			"this one: with a key that may manage keys, on your account page, or through " + r.support.String() + ".",
	)
}

// AddressText names the address of a request.
func AddressText(from netip.Addr) string {
	if !from.IsValid() {
		return "an address that is not known"
	}
	return from.String()
}

// scopeRefusal returns the refusal of a key without the scope that the operation needs.
func scopeRefusal(has, needs keys.Scope) *problem.Error {
	e := problem.InsufficientScope.WithMessage(
		"This API key has the scope " + string(has) + ", and this operation needs the scope " + string(needs) + ".",
	)
	e.Challenge = problem.ChallengeScope + `"` + string(needs) + `"`
	return e
}

// notValid returns the refusal of a key that is not valid. c is nil if there is no such key. The
// reason is the status in err, as the directory determined it: at another instant it could differ.
func (r *keyRefusals) notValid(c *keys.Caller, err error) *problem.Error {
	status := keys.StatusError("")
	if c == nil || !errors.As(err, &status) {
		return r.unknownKey
	}
	return &problem.Error{
		Code: problem.InvalidAPIKey, Message: r.text(c, keys.Status(status)), Reason: string(status),
		Challenge: problem.ChallengeInvalid + `, error_description="` + problem.Descriptions[keys.Status(status)] + `"`,
	}
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
	return problem.InvalidAPIKey.Message
}

// instant returns the time in UTC, to the second: 2026-11-20T09:21:48Z.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }
