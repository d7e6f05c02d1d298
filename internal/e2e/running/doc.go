// Package running tests what docs/running.md tells operators: the proxies of deploy/proxy with the
// real programs, rolling restarts, and upgrades from the last release, all under load. No request
// may be lost.
//
// Each test logs the figures that it checked; go test -v ./internal/e2e/running prints them. The
// tests are for Linux: servers listen on several addresses of 127.0.0.0/8.
package running
