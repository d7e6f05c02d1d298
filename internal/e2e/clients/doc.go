// Package clients tests the packages for customers in languages other than Go, those in
// clients/typescript and clients/python, and what docs/clients.md tells customers of all three to do.
//
// Each package has its own tests, in its language, which run all vectors of clients/testdata. Here
// they are started, with the runtimes that the package promises, and with a server for those that
// need one. What they need besides is installed if it is missing, by the lock files of the package.
package clients
