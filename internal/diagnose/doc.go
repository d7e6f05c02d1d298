// Package diagnose determines how the API responds to a caller, and why. It is pure: it depends
// only on its arguments.
//
// Caller applies the reasons for a refusal in the API's order: the state of the key (401), a ban
// (429), the limits (429). A Record holds what is recorded about a key. Its Verdict is the API's
// response to the next request, as far as that is known. Explain says why a request failed, for
// customers and for staff. A test in internal/api checks that the servers use the same order and
// codes.
package diagnose
