// Package deploycheck checks the files in deploy/ with the programs and libraries that read them in
// production, without a daemon and without a network. Each check returns the faults that it found.
// The tests run every check on deploy/, where it must find nothing, and on a copy with a mistake
// made on purpose, which it must find.
package deploycheck
