// Package packages tests the packages of a release: it installs the deb and the rpm into empty
// roots, and runs what is there by the lines of its units, on a real Postgres.
//
// The packages are built from their descriptions in deploy/packages, for this machine's
// architecture, with lines in place of manual pages, completions and licences. With PETSTORE_SOAK=1
// they have all of a release. PETSTORE_E2E_PACKAGES names a folder with those of a release: make
// release-snapshot runs the tests with it. If the tests run as root, the programs see nothing but
// the new root and have the rights of the user that the package made. Else they run from there as
// they are. The tests are for Linux.
package packages
