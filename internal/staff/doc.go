// Package staff defines a person's login: its name, its role, and its secret.
//
// A secret is made here, shown once, and never sent to Postgres. Postgres gets its verifier, which
// can check the secret but does not contain it. So no log of statements can hold a secret. All
// functions are safe for concurrent use.
package staff
