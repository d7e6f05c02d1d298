// Package store keeps the platform's data in Postgres. It implements the small interfaces that the domain packages
// declare, one file a noun, and holds all SQL.
//
// Errors of the driver end at its edge: a domain error where a rule of the domain was broken, an error that is
// ErrUnavailable (and the domain packages' errors of that name) where trying again later helps, and anything else as
// it came, wrapped. A write that must not happen twice runs in an explicit transaction, because database/sql repeats
// a statement outside of one when its connection breaks; or, as one statement, on a connection that database/sql lends and leaves
// alone (direct.go).
//
// The API works in the role petstore_api, for which row-level security hides every row of the catalogue until a
// tenant is named; staff and migrations work as the database's owner.
package store
