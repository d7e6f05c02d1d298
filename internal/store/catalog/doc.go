// Package catalog stores the animals and the orders of tenants, and the answers to idempotent
// requests.
//
// The tenant is the first argument of each method, and is set for row-level security within the
// statement itself. A statement that changes something is sent at most once, or has an idempotency
// key.
package catalog
