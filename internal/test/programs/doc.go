// Package programs builds petstore and petstorectl as make build does, and runs them in tests of
// other packages.
//
// All that a test starts ends with the test. A test fails if the log of one of our programs has a
// data race, a panic, a missing permission or a flood of trouble. A Process is safe for concurrent
// use, except that only one goroutine may wait for its end.
package programs
