// Package sandbox isolates tests from the machine and the shell that run them.
//
// A test binary that imports it, even through a helper, has the same environment everywhere: PATH,
// TMPDIR, what Go needs to find its caches, and the variables of make test and make soak. There is
// no HOME, and the time zone is UTC. A developer's variables (PETSTORE_DATABASE_URL, PGSERVICE,
// NO_COLOR, TZ, HTTP_PROXY …) do not reach a test. The binary starts itself again, so that
// variables are replaced before the libraries read them.
//
// Command makes commands with such an environment, an empty folder and an empty HOME of their own.
// internal/structure refuses exec.Command in tests elsewhere.
package sandbox
