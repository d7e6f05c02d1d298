// Package keys defines API keys, the callers they stand for, and bans. Its Service issues,
// identifies, edits, rotates and revokes keys.
//
// Only the customer has the plaintext of a key: it is shown once, when the key is issued. The
// platform stores and compares only its SHA-256 digest. A Token prints itself redacted.
//
// Package callers finds the caller of a request. Package strikes bans keys that keep sending
// requests after 429.
package keys
