// Package syspkg installs system packages: with apt-get as root or through a sudo that asks for no password, with Homebrew on
// macOS. Where none of them can be used it says in one line what to install.
//
// Several processes may ask for the same package at the same time: one installs, the others wait for it. A service that
// Debian would start on installation is not started, and no PostgreSQL cluster is created.
package syspkg
