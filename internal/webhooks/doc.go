// Package webhooks tells customers' servers of events, over HTTPS, and signs what it sends as
// Standard Webhooks 1.0 says.
//
// An event is stored in an outbox, in the transaction of the change. Any server claims what is due,
// sends it and stores what came of it. So each event is sent at least once; order is not promised.
// The signature covers the event's id, the attempt's time and the stored body.
//
// A Sender reaches no address inside: it judges each address when it connects, after the name was
// resolved. A Sealer encrypts the secrets of endpoints. A Deliverer works until its context ends.
// All three are safe for concurrent use. While the outbox can't be reached, nothing is sent, and
// what was claimed by a server that ended is claimed again when its lease has expired.
package webhooks
