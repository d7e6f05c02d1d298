// Package contract holds the API to its OpenAPI document, in tests: every request that a test sends and every answer that
// comes back are compared with it, and requests are made from it.
//
// An exchange breaks the contract when the document does not name the answer's status, one of its headers or its error
// code, when a header or the body has another form than the document says, when a header that it promises is missing, or
// when a request succeeded that the document does not allow. It does so too when the path or the method is not in
// the document and yet is served.
package contract
