// Package closing seals the usage of a month: it gives every line its canonical form and its hash, and all lines one root.
//
// A line says what one tenant used in a month under one assignment and one version of its plan. The lines of a tenant are one leaf of
// the month's Merkle tree (RFC 6962), in the order of the tenants' numbers, so a proof shows a tenant that these are all of its lines, and
// shows nothing of others. docs/billing.md has the canonical form and a program that checks a proof.
//
// The canonical form never changes: what is sealed is compared with it years later. Another form gets another Format.
//
// A Seal and a Prover hold the lines of one tenant and a hash for each level of the tree, however many lines there are. They are not
// safe for concurrent use. Everything else is a function of its arguments.
package closing
