// Package simtest simulates, on its own clock, an hour of clients that wait after 429 and of loops
// that do not. It checks that only the loops are banned.
package simtest
