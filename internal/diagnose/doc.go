// Package diagnose says what the API answers to a caller, and why. It is pure: it decides from what it is
// given.
//
// Caller is the order in which the API refuses a caller: the state of the key (401), a ban (429), the limits
// (429). A Record holds what is recorded of a key, and its Verdict is what the API answers to the next
// request as far as that is known. A test in internal/api holds the servers to the same order and codes.
package diagnose
