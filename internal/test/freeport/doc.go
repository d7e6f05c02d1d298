// Package freeport finds ports for the servers that tests start.
//
// A port that was free a moment ago, or whose server was stopped for a moment, may belong to
// somebody else by now: all that listen on any free port, and all connections, get theirs from the
// same range. So on Linux a port is held until the test ends: a socket that does not listen stays
// bound to it. The kernel gives the port to nobody who asks for any, and lets a server listen on it
// that sets SO_REUSEADDR, as nearly all servers do. Until one does, connections to the port are
// refused. Elsewhere the port was free a moment ago.
//
// All functions are safe for parallel tests. They fail the test when there is no port.
package freeport
