// Package store keeps the platform's data in Postgres. It holds all SQL, one type and one file for each noun, and implements
// the small interfaces that the domain packages declare.
//
// It turns the driver's errors into domain errors where a rule of the domain was broken. An error that is ErrUnavailable,
// and the domain packages' errors of that name, means that trying again later helps. Other errors are wrapped as they are.
//
// The API works in the role petstore_api, for which row-level security hides every row of the catalogue until a tenant is
// set. Staff and migrations work as the database's owner.
package store
