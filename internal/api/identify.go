package api

import (
	"errors"
	"net/http"
	"strings"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/keys"
)

// The challenges of a 401 (RFC 6750, section 3). Without a credential, or with one of another scheme, the challenge names no error.
const (
	challenge        = `Bearer realm="petstore"`
	challengeInvalid = `Bearer realm="petstore", error="invalid_token", ` +
		`error_description="The API key is malformed, unknown or no longer valid"`
)

// identify sets the caller. Without a valid key it sets the refusal instead, which is sent only if no other response precedes it.
func (a *api) identify(x *exchange) {
	if x.Request.Method == http.MethodOptions {
		return
	}
	token, refusal := x.credential()
	if refusal != nil {
		x.refusal = refusal
		return
	}
	caller, err := a.Directory.Find(x.Request.Context(), token, x.started)
	if errors.Is(err, keys.ErrNotCached) {
		caller, err = a.lookUp(x, token)
	}
	switch {
	case err == nil:
		x.caller = caller
		x.cache.setAuthenticated(caller.Tenant.ID)
	case errors.Is(err, keys.ErrInvalidKey):
		x.refusal = invalidKey
	default:
		x.refusal = toError(err)
	}
}

// lookUp looks up a key of which nothing is in memory. The request counts for its address before, and over the address's limit
// there is no look-up: so a stranger causes no more of them than the limit. If the key is valid, the request is uncounted again.
func (a *api) lookUp(x *exchange, token keys.Token) (*keys.Caller, error) {
	if err := a.admitAddress(x); err != nil {
		return nil, err
	}
	caller, err := a.Directory.Lookup(x.Request.Context(), token)
	switch {
	case err == nil:
		a.Addresses.Return(a.address(x), x.now)
		x.addressCounted = false
	case errors.Is(err, keys.ErrUnavailable):
		// It does not say that the request was not counted.
		err = (&Error{code: codeUnavailable, message: notLookedUp, cause: err}).retryAfter(1)
	}
	return caller, err
}

const notLookedUp = "The API key can't be checked at the moment. Retry after the seconds in Retry-After."

// Refusals of a request without a valid key. They don't say what exactly is wrong with it.
var (
	missingKey = codeMissingAPIKey.err()
	invalidKey = codeInvalidAPIKey.err()
)

// credential returns the request's API key, from the connection's cache if it is there.
func (x *exchange) credential() (keys.Token, *Error) {
	values := x.Request.Header["Authorization"]
	if len(values) == 1 {
		if token, ok := x.cache.get(values[0]); ok {
			return token, nil
		}
		values = []string{x.cache.own(values[0])}
	}
	token, refusal := credential(values)
	if refusal == nil {
		x.cache.put(values[0], token)
	}
	return token, refusal
}

// credential reads the API key: one Authorization header with the scheme Bearer, in any case, one or more spaces and
// the key (RFC 9110, section 11.4).
func credential(values []string) (keys.Token, *Error) {
	switch {
	case len(values) == 0, len(values) == 1 && values[0] == "":
		return keys.Token{}, missingKey
	case len(values) > 1:
		return keys.Token{}, invalidKey
	}
	scheme, rest := httpfield.CutToken(values[0])
	if !strings.EqualFold(scheme, "Bearer") {
		return keys.Token{}, missingKey
	}
	text := strings.TrimLeft(rest, " ")
	if len(text) == len(rest) {
		return keys.Token{}, invalidKey
	}
	token, err := keys.ParseToken(text)
	if err != nil {
		return keys.Token{}, invalidKey
	}
	return token, nil
}
