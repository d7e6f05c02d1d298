// Package storetest gives tests databases on real PostgreSQL servers that the test binary starts
// itself.
//
// New hands out a migrated database for one test. It is cloned from a template on a server that the
// whole binary shares, or all binaries of make test. NewServer starts a server for one test, which
// may stop, pause and kill it. Both need PostgreSQL: if it is not installed, the test fails.
//
// Main and each test's cleanup remove everything. If the binary is killed, the server ends by
// itself, and the next run of any test removes its files. All functions are safe for parallel
// tests, and for several test binaries at the same time.
package storetest
