// Package counter has the rules of the durable counters, which keep limits exact when the term
// changes, and the Store that keeps them.
//
// The rules are pure functions of rows (Rows): the store runs them in a transaction, and tests run
// the same ones in memory. Package limits/distributed is their only caller.
package counter
