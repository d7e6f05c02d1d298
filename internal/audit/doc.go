// Package audit defines the entries of the audit trail (who changed what, and why) and verifies
// that the trail is intact.
//
// Every change of a tenant, key, plan or ban by staff or by the platform itself writes one Entry in
// its transaction. A change whose reason or actor contains an API key is refused, because many
// people read the trail and an entry is never changed.
//
// The trail is a hash chain: each entry holds the hash of the one before it. So no entry can be
// changed, removed or inserted without changing all later hashes. Postgres computes the hashes when
// it writes an entry; a Verifier computes them again, from the entry alone. docs/audit.md says what
// that proves, and what it does not.
//
// Nothing here reads or writes a database. A Verifier is not safe for concurrent use.
package audit
