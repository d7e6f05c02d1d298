// Package deploycheck checks the files in deploy/ with the programs and libraries that read them
// there, without a daemon and without a network. Each check returns what it found wrong. The tests
// run every check on deploy/, where it must find nothing, and on a copy with a planted mistake,
// which it must find.
package deploycheck
