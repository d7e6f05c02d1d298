// Package limits decides how much a tenant may call.
//
// A Claim is the input for one request. Its windows are the tenant's minute, the tenant's day, and
// the key's minute if the key has a limit of its own. A Limiter checks all of them in one step: the
// request counts in every window, or, if one is full, in none. No window ever admits more than its
// limit. Decide is that rule; all limiters use it.
//
// Memory is the limiter of one process. Package limits/distributed has the one that several servers
// share. README.md defines the words, has an example with numbers, and shows what is stored where.
//
// A Decision is a value that knows nothing of HTTP; package api/gate turns it into limits and
// refusals. All types are safe for concurrent use unless their comment says otherwise.
package limits
