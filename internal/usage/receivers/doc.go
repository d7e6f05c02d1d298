// Package receivers sends events to billing systems.
//
// A Receiver is read from a file of NAME=VALUE lines that nobody else may read. Post makes one
// request, and judges the reply by the rules of the receiver's format. An Answer says whether the
// events have arrived, will never be taken, or may be sent again, and whether this attempt may have
// reached the receiver at all. Redirects are not followed, because they would take the secret
// elsewhere.
//
// Secrets are in separate files. No error and no Answer contains them: a secret that a reply
// repeats is removed. A Receiver is safe for concurrent use.
package receivers
