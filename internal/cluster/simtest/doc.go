// Package simtest simulates servers that agree on terms, step by step: in each order of steps at
// most one term is in force.
package simtest
