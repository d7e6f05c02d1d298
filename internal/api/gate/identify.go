package api

import (
	"errors"
	"net/http"
	"strings"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/keys"
)

// identify sets the caller. Without a valid key it sets the refusal instead, which is sent only if
// no other response precedes it.
func (a *api) identify(x *exchange) {
	if x.Request.Method == http.MethodOptions {
		return
	}
	token, refusal := a.credentialOf(x)
	if refusal != nil {
		x.refusal = refusal
		return
	}
	caller, err := a.Directory.Find(x.Request.Context(), token, x.started)
	if errors.Is(err, keys.ErrNotCached) {
		caller, err = a.lookUp(x, token)
	}
	switch {
	case err == nil && caller.Access != nil && !caller.Access.From(a.address(x)):
		x.refusal, x.keyOf = a.refusals.elsewhere(a.address(x)), caller
	case err == nil:
		x.caller = caller
		x.cache.setAuthenticated(caller.Tenant.ID)
	case errors.Is(err, keys.ErrOtherEnvironment):
		x.refusal = a.refusals.otherEnvironment
	case errors.Is(err, keys.ErrInvalidKey):
		x.refusal, x.keyOf = a.refusals.notValid(caller, err), caller
	default:
		x.refusal = toError(err)
	}
}

// lookUp looks up a key that is not in memory. The request counts for its address before, and over
// the address's limit there is no look-up: so a stranger causes no more of them than the limit. If
// the key is valid, the request is uncounted again.
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

// credentialOf returns the request's API key. A header that came before, on this connection or
// another, is not read anew.
func (a *api) credentialOf(x *exchange) (keys.Token, *Error) {
	values := x.Request.Header["Authorization"]
	if len(values) != 1 || len(values[0]) > maxAuthorization {
		return a.refusals.credential(values)
	}
	if token, ok := x.cache.get(values[0]); ok {
		return token, nil
	}
	h := a.credentials.get(values[0])
	if h == nil {
		// A copy: the header may be part of a string that holds the whole request.
		own := strings.Clone(values[0])
		token, refusal := a.refusals.credential([]string{own})
		if refusal != nil {
			return keys.Token{}, refusal
		}
		h = &credentialHeader{own, token}
		a.credentials.put(h)
	}
	x.cache.put(h)
	return h.token, nil
}

// credential reads the API key: one Authorization header with the scheme Bearer, in any case, one
// or more spaces and the key (RFC 9110, section 11.4).
func (r *keyRefusals) credential(values []string) (keys.Token, *Error) {
	switch {
	case len(values) == 0, len(values) == 1 && values[0] == "":
		return keys.Token{}, r.missingKey
	case len(values) > 1:
		return keys.Token{}, r.severalHeaders
	}
	scheme, rest := httpfield.CutToken(values[0])
	if !strings.EqualFold(scheme, "Bearer") {
		return keys.Token{}, r.otherScheme
	}
	text := strings.TrimLeft(rest, " ")
	if text == "" {
		return keys.Token{}, r.missingKey
	}
	if len(text) == len(rest) {
		// Such as "Bearer: ": a key begins otherwise.
		return keys.Token{}, r.malformedKey("-")
	}
	token, err := keys.ParseToken(text)
	if err != nil {
		return keys.Token{}, r.malformedKey(text)
	}
	return token, nil
}
