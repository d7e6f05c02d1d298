// Package httpfield reads and writes the values of the HTTP header fields of package api: ETag and
// If-None-Match, Accept-Encoding, Prefer, Idempotency-Key, Link and the cursors of X-Next-Cursor.
//
// All functions are pure. Reading functions never fail on malformed input: they report it, or
// ignore it where the field's RFC says so.
package httpfield
