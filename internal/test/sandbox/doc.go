// Package sandbox keeps tests apart from the machine and the shell that run them.
//
// A test binary that imports it, even by a helper, runs with an environment that is the same
// everywhere: PATH, TMPDIR, what Go needs to find its caches, and the variables of make test and
// make soak. There is no HOME, and the time zone is UTC. A variable that a developer has set
// (PETSTORE_DATABASE_URL, PGSERVICE, NO_COLOR, TZ, HTTP_PROXY …) does not reach a test. Variables
// are replaced before the libraries read them: the binary starts itself once more.
//
// Command makes commands with such an environment, an empty folder and an empty HOME of their own.
// internal/structure refuses exec.Command in tests elsewhere.
package sandbox
