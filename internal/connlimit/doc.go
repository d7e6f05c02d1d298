// Package connlimit bounds the open connections of a listener, in all and of each address, and what
// their clients leave unread. Silent connections can then use up neither the process's file
// descriptors nor the memory of the process and the kernel.
//
// A connection is authenticated once a request on it has had a valid key; a trusted proxy's is from
// the start. At a bound a new connection is accepted, and the one that has been idle longest is
// closed: first the unauthenticated ones, then any that has been idle for 10 seconds. If there is
// none, the new connection is refused: it is reset. So strangers close each other's connections,
// and not those that customers use. The keys of one tenant authenticate at most a quarter of all
// connections, so that one valid key is not enough to keep out everybody else.
//
// A connection is idle since 32 KiB of a response, or its end, were sent, an authenticated one also
// since it last received something. This is known to the second. So a client without a key reads at
// no less than 32 KiB in the idle timeout.
//
// Bytes that unauthenticated clients leave unread are counted before they are written. At a bound
// the kernel is asked what is left of them, and the connections with most of it are reset. A
// connection that is closed with unread bytes, or whose write failed, is reset too: the kernel
// would keep them.
//
// An error of the underlying listener is returned unchanged. A Listener and its connections are
// safe for concurrent use.
package connlimit
