// Package callers finds the caller of a request by its API key, from memory.
//
// A Directory caches callers, and keys that do not exist. The change feed (notifications from the
// database) tells it which entries to drop. See Directory for what happens while the feed or the
// store is down.
package callers
