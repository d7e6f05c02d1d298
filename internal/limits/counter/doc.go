// Package counter has the rules of the durable counters, which keep limits exact across terms, and
// the Store that keeps them.
//
// The rules are pure functions of rows (Rows). The store runs them in a transaction; tests run the
// same ones in memory. Package limits/distributed is their only caller.
package counter
