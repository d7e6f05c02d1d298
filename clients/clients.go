// Package clients holds the packages for customers as the server hands them out: the files that make
// clients has built of the folders beside it. The server serves released below /docs/clients, as it
// is. A released file never changes and is never removed, because customers' lock files have its
// digest.
package clients

import "embed"

// Released holds the folder released, and names.json with the packages' names.
//
//go:embed names.json all:released
var Released embed.FS
