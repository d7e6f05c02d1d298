// Package contract checks the API against its OpenAPI document in tests: every request that a test
// sends, and every response. Schemathesis generates requests from the document
// (tools/schemathesis).
//
// An exchange violates the contract in these cases. The document does not list the response's
// status, one of its headers or its error code. A header or the body does not match its schema. A
// required header is missing. A request succeeded although the document does not allow it. The
// server serves a path or method that is not in the document.
//
// The document leaves open what a proxy may change and where values may be added. promises.yaml
// says what our own server sends there, and every response is checked against both. Responses that
// came through a proxy are checked against the document alone, as a generated client would.
package contract
