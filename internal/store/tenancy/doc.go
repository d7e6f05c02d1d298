// Package tenancy stores tenants with their keys and bans, and finds what a word names.
//
// Of a key it knows only the digest, which only functions of Postgres may read. One of them,
// change_key, makes every change of a key. Keys calls it through change_key_as_staff, CustomerKeys
// through manage_key.
package tenancy
