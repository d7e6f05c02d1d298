// Package keys defines API keys, the callers they stand for, and bans. Its Service issues, identifies, edits,
// rotates and revokes keys.
//
// The plaintext of a key exists with the customer and, once, in the response that issued it. The platform
// stores and compares only its SHA-256 digest. A Token prints itself redacted.
//
// Package callers finds the caller of a request, package strikes bans keys that go on calling after refusals.
package keys
