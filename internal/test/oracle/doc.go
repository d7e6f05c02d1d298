// Package oracle records what clients of the API saw, and checks the records against the promises
// of the API's documents.
//
// It knows nothing but the documents. It imports no other package of ours, so it can't share a
// mistake with the code that it judges. The checker reads nothing but the records. If a document
// says that something is not guaranteed, an Exception names the document; nothing is tolerated
// silently.
//
// A Recorder is safe for concurrent use. Check is a function of its arguments.
package oracle
