package pricing

import "petstore.example/internal/store/pgconn"

// Pricing is which plans there are, and which tenant has which from when to when.
type Pricing struct {
	Plans     Plans
	PriceList PriceList
	Timelines Timelines
}

// New returns that of a database.
func New(db *pgconn.DB) Pricing { return Pricing{Plans{db}, PriceList{db}, Timelines{db}} }
