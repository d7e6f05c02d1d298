// Package jsonbody reads and writes the JSON bodies of requests and responses.
//
// Read accepts one JSON object (RFC 8259, and RFC 7493 where that leaves a choice): names are
// case-sensitive and must not repeat, at any depth, and nesting is limited. The members of the
// returned Object are then read by type. Missing and invalid members are collected, so that Err
// reports all of them at once.
//
// Errors are *SyntaxError or *ValidationError. Their messages are written for the client.
package jsonbody
