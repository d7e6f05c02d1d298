// Package e2e holds tests of the programs as people run them: the binaries petstore and petstorectl, built once, on real
// Postgres and Redis servers.
//
// Each test shows a promise in numbers, which it logs: go test -v ./internal/e2e prints them. PETSTORE_SOAK=1 makes the
// tests longer, PETSTORE_E2E_RACE=1 gives the programs the race detector, and PETSTORE_E2E_LOGS names a folder for what
// the programs print. What a test starts ends with it.
package e2e
