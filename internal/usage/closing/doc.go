// Package closing seals the usage of a month: it gives every line its canonical form and its hash,
// and all lines together one hash.
//
// A line says what one tenant used in a month under one assignment and one version of its plan. The
// seal of a month is the SHA-256 of its lines' hashes, in the order of the tenants' numbers. So it
// still matches after a tenant's name is removed from its lines. docs/billing.md describes the
// canonical form.
//
// The canonical form never changes, because sealed lines are compared with it years later. A new
// form gets a new Format.
//
// The size of a Total does not grow with the number of lines. A Total is not safe for concurrent
// use. Everything else is a function of its arguments.
package closing
