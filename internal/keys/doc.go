// Package keys knows who calls: API keys, the callers they stand for, and bans.
//
// A key's plaintext exists in the customer's hands and, once, in the answer that issued it. The platform stores and
// compares only its SHA-256 digest. A Token never prints itself.
//
// The Directory answers "whose key is this?" from memory and is told of every change by notices from the database; see
// its comment for what happens while those cannot arrive.
package keys
