// Package simtest simulates servers that agree on terms, step by step. It checks that at most one
// term is in force in each order of steps.
package simtest
