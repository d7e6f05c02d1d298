// Package staff holds what a login of a person is: its name, its role, and its secret.
//
// A secret is made here, shown once, and never sent to Postgres: Postgres gets its verifier, which
// proves that somebody knows the secret and does not contain it. So no log of statements can hold a
// secret. All functions are safe for concurrent use.
package staff
