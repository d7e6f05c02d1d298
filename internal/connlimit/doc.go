// Package connlimit bounds a listener's open connections, in total and per address, and the bytes
// that their clients leave unread. Silent connections then use up neither the process's file
// descriptors nor the memory of the process and the kernel.
//
// A connection is authenticated once a request on it has had a valid key. A trusted proxy's
// connection is authenticated from the start. At a bound a new connection is accepted, and the one
// that has been idle longest is closed: first the unauthenticated ones, then any that has been idle
// for 10 seconds. If there is none, the new connection is reset. So strangers close each other's
// connections, not those that customers use. The keys of one tenant authenticate at most a quarter
// of all connections, so that one valid key cannot keep out everybody else.
//
// A connection becomes idle when 32 KiB of a response, or its end, have been sent. An authenticated
// one is also used whenever it receives something. These times are known to the second. So a client
// without a key must read at least 32 KiB within the idle timeout.
//
// Bytes that unauthenticated clients leave unread are counted before they are written. At a bound
// the kernel is asked how many are left, and the connections with the most are reset. A connection
// that is closed with unread bytes, or whose write failed, is reset too: otherwise the kernel would
// keep the bytes.
//
// An error of the underlying listener is returned unchanged. A Listener and its connections are
// safe for concurrent use.
package connlimit
