package billing

import "petstore.example/internal/store/pgconn"

// Billing is what is used, and what is billed of it.
type Billing struct {
	Usage  Usage
	Events Events
	Months Months
}

// New returns that of a database.
func New(db *pgconn.DB) Billing { return Billing{Usage{db}, Events{db}, Months{db}} }
