// Package contract checks the API against its OpenAPI document in tests: every request that a test
// sends, and every response. Schemathesis generates requests from the document
// (tools/schemathesis).
//
// An exchange violates the contract if the document does not list the response's status, one of its
// headers or its error code, if a header or the body does not match its schema, if a required
// header is missing, or if a request succeeded that the document does not allow. It also does if a
// path or a method that is not in the document is served.
//
// The document leaves open what a proxy may change and where values may be added. promises.yaml
// says what our own server sends there, and every response is held to both. Responses that came
// through a proxy are held to the document alone, as a generated client holds them.
package contract
