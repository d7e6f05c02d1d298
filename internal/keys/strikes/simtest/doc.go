// Package simtest simulates an hour of clients that wait, and of loops that do not, on a clock of
// its own: only loops are banned.
package simtest
