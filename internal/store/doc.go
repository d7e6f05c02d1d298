// Package store keeps the platform's data in Postgres. Its packages hold all SQL, one type and one
// file for each noun, and implement the small interfaces that the domain packages declare. DB
// combines them. Imports go downwards: pgconn, tenants, trail, undo, pricing, people; catalogue and
// billing beside these, and operate above them.
//
// If a rule of the domain was broken, the driver's error becomes a domain error. ErrUnavailable,
// and the domain packages' errors of that name, mean that trying again later helps. Other errors
// are wrapped unchanged.
//
// The API works in the role petstore_api, for which row-level security hides every row of the
// catalogue until a tenant is set. Staff work as logins in petstore_support or petstore_billing,
// migrations as the tables' owner. docs/roles.md lists the rights of each. If a role may do
// something without a right on the table, a function of Postgres does it with the owner's rights.
package store
