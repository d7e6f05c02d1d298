package gate

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/keys"
)

// identify sets the caller. Without a valid key it sets the refusal instead. The refusal is sent
// only if no other response takes precedence.
func (g *Gate) identify(ctx context.Context, r *Request, o *Outcome) {
	if r.Method == http.MethodOptions {
		return
	}
	token, refusal := g.credentialOf(r.Header)
	if refusal != nil {
		o.Refusal = refusal
		return
	}
	caller, err := g.Directory.Find(ctx, token, r.Came)
	if errors.Is(err, keys.ErrNotCached) {
		caller, err = g.lookUp(ctx, r, o, token)
	}
	switch {
	case err == nil && caller.Access != nil && !caller.Access.From(r.Sender.Address()):
		o.Refusal, o.KeyOf = g.refusals.elsewhere(r.Sender.Address()), caller
	case err == nil:
		o.Caller, o.Token, o.bucket = caller, token, bucketOf(caller)
		r.Sender.Authenticated(caller.Tenant.ID)
	case errors.Is(err, keys.ErrOtherEnvironment):
		o.Refusal = g.refusals.otherEnvironment
	case errors.Is(err, keys.ErrInvalidKey):
		o.Refusal, o.KeyOf = g.refusals.notValid(caller, err), caller
	default:
		o.Refusal = problem.Of(err)
	}
}

// lookUp looks up a key that is not in memory. It first counts the request for its address, and
// looks nothing up if the address is over its limit. So a stranger causes no more look-ups than the
// limit. If the key is valid, the count is undone.
func (g *Gate) lookUp(ctx context.Context, r *Request, o *Outcome, token keys.Token) (*keys.Caller, error) {
	if err := g.admitAddress(r, o); err != nil {
		return nil, err
	}
	caller, err := g.Directory.Lookup(ctx, token)
	switch {
	case err == nil:
		g.Addresses.Return(r.Sender.Address(), r.Now)
		o.addressCounted, o.showsAddress = false, false
	case errors.Is(err, keys.ErrUnavailable):
		// The message does not say whether the request was counted.
		err = (&problem.Error{Code: problem.Unavailable, Message: notLookedUp, Cause: err}).RetryAfter(1)
	}
	return caller, err
}

const notLookedUp = "The API key can't be checked at the moment. Retry after the seconds in Retry-After."

// credentialOf returns the request's API key. If the same header came before, on any connection, it
// is not parsed again.
func (g *Gate) credentialOf(header http.Header) (keys.Token, *problem.Error) {
	values := header["Authorization"]
	if len(values) != 1 || len(values[0]) > maxAuthorization {
		return g.refusals.credential(values)
	}
	h := g.credentials.get(values[0])
	if h == nil {
		// The copy is needed: the header may be part of a string that holds the whole request.
		own := strings.Clone(values[0])
		token, refusal := g.refusals.credential([]string{own})
		if refusal != nil {
			return keys.Token{}, refusal
		}
		h = &credentialHeader{own, token}
		g.credentials.put(h)
	}
	return h.token, nil
}

// credential reads the API key: one Authorization header with the scheme Bearer, in any case, one
// or more spaces and the key (RFC 9110, section 11.4).
func (r *keyRefusals) credential(values []string) (keys.Token, *problem.Error) {
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
		// No space follows the scheme, as in "Bearer: ". No key begins with -.
		return keys.Token{}, r.malformedKey("-")
	}
	token, err := keys.ParseToken(text)
	if err != nil {
		return keys.Token{}, r.malformedKey(text)
	}
	return token, nil
}
