// Package account serves the pages of customers who sign in: what they have of their limits, their
// usage, keys and failed requests, and who is signed in. html/template makes them; all of them work
// without JavaScript.
//
// A sign-in is 256 random bits in a cookie. The database has their digest, and says at each request
// whether it is still good, so nothing is cached: a sign-in ends everywhere at once. Somebody signs
// in by a manage key, or by a link of staff, which a GET does not use up.
//
// All calls to Postgres take their turn in the queue of the tenants, those of strangers as one
// tenant. Pages are made in memory, and are some 10 kB. An Account is safe for concurrent use.
// Without Postgres each page is a 503 that says so.
package account
