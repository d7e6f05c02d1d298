// Package connlimit bounds the open connections of a listener: in all, and of each address. Silent connections can then use up neither
// the process's file descriptors nor its memory.
//
// At a bound the newcomer is accepted, and the connection that has been idle longest is closed in its place: first those on which no
// request with a valid key has arrived (unauthenticated ones), then any that has been idle for 10 seconds. If there is none, the newcomer
// is refused: it is reset. So strangers close each other's connections, and not those that customers use.
//
// A connection is idle since its last response was sent, an authenticated one also since it last received something. This is known to
// the second.
//
// A Listener and its connections are safe for concurrent use.
package connlimit
