// Package programs builds petstore and petstorectl as make build does, and runs them in tests that
// have a package of their own.
//
// What a test starts ends with it. A data race, a panic, a missing permission or a flood of trouble
// in the log of one of our programs fails its test. A Process is safe for concurrent use, except
// that one goroutine waits for its end.
package programs
