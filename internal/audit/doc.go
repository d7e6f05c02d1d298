// Package audit defines the entries of the audit trail, who changed what and why, and verifies that
// the trail is intact.
//
// Every change of a tenant, key, plan or ban by staff or by the platform itself writes one Entry in
// its transaction. A change whose reason or actor contains an API key is refused, because many
// people read the trail and it is never deleted.
//
// The trail is a hash chain: each entry holds the hash of the one before it, so no entry can be
// changed, removed or inserted without all later hashes changing too. Postgres computes the hashes
// when it writes an entry; a Verifier computes them again, from the entry alone. docs/audit.md says
// what that proves, and what it does not.
//
// Nothing here reads or writes; a Verifier is not safe for concurrent use.
package audit
