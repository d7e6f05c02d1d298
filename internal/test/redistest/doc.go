// Package redistest gives tests real Redis servers that the test binary starts itself.
//
// New starts one of the test's own, to stop, pause and flush. Shared hands out a database on one
// that the whole binary shares. Where redis-server is not installed, the test fails. No server
// keeps anything on disk, and none outlives the binary. All functions are safe for parallel tests
// and for several test binaries at the same time.
package redistest
