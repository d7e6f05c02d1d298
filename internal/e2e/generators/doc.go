// Package generators tests the clients that five generators make of the OpenAPI document
// (tools/generators): each goes the whole way, from the first animal to a limit that is exceeded,
// against a server, directly and behind an nginx that compresses.
//
// The programs say what they got as the types of their clients have it, and all must say the same.
// make makes them again when the document has changed, which takes a minute of a processor. A
// program runs until it has said everything, or fails with what its client could not read.
package generators
