// Package load drives an HTTP server with wrk and makes sure that what was measured is what was meant to be.
//
// A figure counts only when, during the whole run, no answer had a status of 400 or more, no connection failed or timed out, and
// the answers had on average the size of the right one; and when a request before and one after the run got exactly the
// status and the body that are wanted. Anything else is an error: a benchmark that measured refusals is none.
package load
