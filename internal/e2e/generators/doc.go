// Package generators tests the clients that five generators make from the OpenAPI document
// (tools/generators). Each client goes from the first animal to an exceeded limit, once with a
// server directly and once through an nginx that compresses.
//
// Each program prints the responses as its client's types have them, and all must print the same.
// make rebuilds the programs when the document has changed, which takes a minute of a processor. A
// program ends when it has printed everything, or fails with the response that its client could not
// read.
package generators
