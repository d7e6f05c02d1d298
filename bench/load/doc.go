// Package load sends one request to an HTTP server over and over, with wrk as fast as the responses
// arrive or at a fixed rate, or on many connections, and verifies the responses.
//
// A run is valid only if every response had the kind of status that the target expects (400 or
// more, or less), no connection failed or timed out, the average size of the responses was right,
// and a request just before and one just after the run got exactly the expected status and body.
// Otherwise the run returns an error.
package load
