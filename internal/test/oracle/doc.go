// Package oracle records what clients of the API saw, and checks the records against what the API's
// documents promise.
//
// It knows the documents only: it imports no other package of ours, so it can't share a mistake
// with the code that it judges. The checker reads nothing but the records. What a document says is
// not guaranteed is an Exception that names the document, never a silent tolerance.
//
// A Recorder is safe for concurrent use. Check is a function of its arguments.
package oracle
