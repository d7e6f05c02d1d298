package billing

import "petstore.example/internal/store/pgconn"

// Billing has the recorded usage, and the billed months.
type Billing struct {
	Usage  Usage
	Events Events
	Months Months
}

// New returns the Billing of a database.
func New(db *pgconn.DB) Billing { return Billing{Usage{db}, Events{db}, Months{db}} }
