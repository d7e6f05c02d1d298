// Package redistest gives tests real Redis servers that the test binary starts itself.
//
// New starts a server for one test, which may stop, pause and flush it. Shared hands out a database
// on a server that the whole binary shares. If redis-server is not installed, the test fails. No
// server stores anything on disk, and none outlives the binary. All functions are safe for parallel
// tests, and for several test binaries at the same time.
package redistest
