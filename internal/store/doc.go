// Package store keeps the platform's data in Postgres. Its packages hold all SQL, one type and one
// file for each noun, and implement the small interfaces that the domain packages declare. DB is
// all of them. Imports go downwards: pgconn, tenants, trail, undo, pricing, people; catalogue and
// billing beside these, and operate above them.
//
// It turns the driver's errors into domain errors where a rule of the domain was broken. An error
// that is ErrUnavailable, and the domain packages' errors of that name, means that trying again
// later helps. Other errors are wrapped as they are.
//
// The API works in the role petstore_api, for which row-level security hides every row of the
// catalogue until a tenant is set. Staff work as logins in petstore_support or petstore_billing,
// and migrations as the tables' owner. docs/roles.md has the rights of each. What a role may do,
// but not with a right on a table, is a function of Postgres with the owner's rights.
package store
