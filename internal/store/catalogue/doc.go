// Package catalogue stores the animals and the orders of tenants, and the answers of idempotent
// requests.
//
// The tenant is the first argument of each method, and is set for row-level security within the
// statement itself. Statements that change something are sent at most once, or have an idempotency
// key.
package catalogue
