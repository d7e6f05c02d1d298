// Package servers starts the servers that a benchmark needs: PostgreSQL, Redis, petstore, bare Gin
// and a build from well-known parts. All are child processes on the loopback address, and end with
// this process.
package servers
