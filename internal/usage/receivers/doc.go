// Package receivers sends events to billing systems.
//
// A Receiver is read from a file of NAME=VALUE lines that nobody else may read. Post makes one
// request, and judges the reply by the rules of the receiver's format: an Answer says whether the
// events have arrived, will never be taken, or may be sent again, and whether this attempt can have
// reached the receiver at all. No redirect is followed, because it would take the secret elsewhere.
//
// Secrets are in files of their own. They are in no error and in no Answer: where a reply repeats
// one, it is removed. A Receiver is safe for concurrent use.
package receivers
