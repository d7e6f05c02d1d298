// Package closing seals the usage of a month: it gives every line its canonical form and its hash,
// and all lines one hash.
//
// A line says what one tenant used in a month under one assignment and one version of its plan. The
// seal of a month is the SHA-256 of its lines' hashes, in the order of the tenants' numbers, so it
// also fits after a tenant's name was removed from its lines. docs/billing.md has the canonical
// form.
//
// The canonical form never changes: what is sealed is compared with it years later. Another form
// gets another Format.
//
// A Total holds sums, however many lines there are. It is not safe for concurrent use. Everything
// else is a function of its arguments.
package closing
