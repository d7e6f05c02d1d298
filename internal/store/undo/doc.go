// Package undo takes back changes that are in the audit trail.
//
// It checks that an entry may be taken back, locks its subject, and hands it to the Undoers of the
// package that made the change. They make a new change with an entry of its own. All entries of a
// call are taken back, or none.
package undo
