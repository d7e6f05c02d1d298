// Package freeport finds ports for the servers that tests start.
//
// A free port may soon belong to another program, even the port of a server that is only stopped
// for a moment: connections and listeners on any free port get theirs from the same range. So on
// Linux a socket holds the port until the test ends: it is bound to the port and does not listen.
// The kernel then gives the port to no program that asks for any port, but a server may listen on
// it with SO_REUSEADDR, which nearly all servers set. Until then, connections to the port are
// refused. On other systems a port is not held.
//
// All functions are safe for parallel tests. They fail the test if there is no port.
package freeport
