// Package account serves the pages of customers who sign in: their limits, usage, keys and failed
// requests, and who is signed in. The pages are made by html/template, and all work without
// JavaScript.
//
// A sign-in is 256 random bits in a cookie. The database stores their digest, and each request asks
// it whether the sign-in is still valid. Nothing is cached, so a sign-in ends everywhere at once. A
// person signs in with a manage key, or with a link from staff, which a GET does not use up.
//
// All calls to Postgres take their turn in the queue of the tenants; strangers share one turn.
// Pages are made in memory, and are some 10 kB. An Account is safe for concurrent use. Without
// Postgres each page is a 503 that says so.
package account
