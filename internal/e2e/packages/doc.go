// Package packages tests the packages of a release. It installs the deb and the rpm into empty root
// directories, and runs the installed programs by the lines of their units, on a real Postgres.
//
// The packages are built from their descriptions in deploy/packages, for this machine's
// architecture, with placeholders for manual pages, completions and licences; with PETSTORE_SOAK=1
// they are complete. PETSTORE_E2E_PACKAGES names a folder with the packages of a release: make
// release-snapshot runs the tests with it. If root runs the tests, the programs see only the new
// root directory, and have the rights of the user that the package made. Otherwise the programs run
// from that directory as the user of the tests. The tests are for Linux.
package packages
