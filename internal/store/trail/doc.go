// Package trail makes changes, and reads and verifies the audit trail.
//
// Each change by staff runs in Change and gives its entries to Write. They are written at the end
// of its transaction, so an entry exists exactly if its change does. Several changes in one Run are
// made together or not at all.
package trail
