// Package localpg runs a private PostgreSQL server as a child process: for `petstore dev` and for the tests.
//
// The server listens on a Unix socket only, in a folder that nobody but its owner and root may enter, and trusts whoever
// reaches it. As root it runs as the user postgres, or nobody, since PostgreSQL refuses to run as root. Its data is found again
// by the next Start on the same folder, whatever ended the last one: a Stop, kill -9 of this process, or kill -9 of the server.
//
// One process at a time uses a folder. A server whose parent was killed ends by itself; one that is still ending is waited for.
// A Server is safe for concurrent use.
package localpg
