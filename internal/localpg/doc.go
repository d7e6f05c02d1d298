// Package localpg runs a private PostgreSQL server as a child process, for `petstore dev` and for
// tests.
//
// The server listens on a Unix socket only, in a directory that only its owner and root can enter,
// and trusts every client that reaches it. PostgreSQL refuses to run as root, so for root it runs
// as the user postgres, or nobody. The next Start on the same directory finds the data again,
// however the last server ended: by Stop, or by kill -9 of this process or of the server.
//
// The directory must belong to this user or root, and nobody else may write to it: another user
// could otherwise have root open, chown or chmod a file of its choice.
//
// One process at a time uses a directory: it locks the file "lock". All processes of a server share
// a lock on its log. So Start notices a process left over from a killed run, and ends it. A Server
// is safe for concurrent use.
package localpg
