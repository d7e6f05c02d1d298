// Package tenants finds and locks the rows of tenants, for all packages of the store that change a
// tenant.
//
// All lock tenants before keys, and both in the order of their IDs, so that no two changes wait for
// each other.
package tenants
