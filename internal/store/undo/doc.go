// Package undo takes changes back that the audit trail has.
//
// It checks that an entry may be taken back, locks what it is about, and hands it to the Undoers of
// the package that made the change. What these do is a new change with an entry of its own. Either
// all entries of a call are taken back or none.
package undo
