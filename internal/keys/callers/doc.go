// Package callers finds the caller of a request by its API key, from memory.
//
// A Directory caches callers and keys that do not exist. It drops what it holds when the change feed, notices
// from the database, tells it of a change. See Directory for what happens while the feed or the store is
// down.
package callers
