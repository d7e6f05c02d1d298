// Package storetest gives tests databases on real PostgreSQL servers that the test binary starts
// itself.
//
// New hands out a migrated database of the test's own, cloned from a template on one server shared
// by the whole binary, or by all binaries of make test. NewServer starts a server of the test's
// own, to stop, pause and kill. Both need PostgreSQL: where it is not installed, the test fails.
//
// Main and each test's cleanup remove everything. If the binary is killed, the server ends by
// itself, and the next run of any test removes its files. All functions are safe for parallel
// tests, and for several test binaries at the same time.
package storetest
