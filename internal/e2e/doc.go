// Package e2e tests the programs as people run them: the binaries petstore and petstorectl, built
// once, on real Postgres and Redis servers.
//
// Each test logs the figures that it checked; go test -v ./internal/e2e prints them. Environment
// variables change the run. PETSTORE_SOAK=1 makes the tests longer. PETSTORE_E2E_RACE=1 builds the
// programs with the race detector. PETSTORE_E2E_SERVER_ENV="NAME=value ..." is added to the
// environment of every server. PETSTORE_E2E_LOGS names a directory for the programs' logs and the
// oracle's records. Everything that a test starts ends with it.
package e2e
