// Package servers starts what a benchmark runs against: PostgreSQL, Redis, petstore servers and a bare Gin server, all of them
// children of this process on the loopback address, which end with it whatever ends it.
package servers
